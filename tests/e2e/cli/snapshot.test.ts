import { existsSync, writeFileSync } from 'node:fs';
import { buildCapstan, Child, capstanProgram, freePort, output, run, startEtcd, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { expect, test } from 'vitest';

await buildCapstan();

const capstan = (...args: string[]) => run(process.execPath, [capstanProgram, ...args], { timeout: 30_000 });

await describeWith(['kubectl', 'etcd'], 'capstan snapshot', ({ kubectl }) => {
  /** Runs a server on a directory while `work` uses it. */
  async function serving(
    data: string,
    args: readonly string[],
    work: (call: (...args: string[]) => Promise<string>) => Promise<void>,
  ): Promise<void> {
    const command = [process.execPath, capstanProgram, 'apiserver', '--data-dir', data, '--port', String(await freePort()), ...args];
    await using server = new Child('capstan apiserver', command);
    await server.waitUntil('ready', () => server.output.includes('ready at'));
    await work((...rest) => output(kubectl, ['--kubeconfig', `${data}/admin.kubeconfig`, ...rest], { environment: { HOME: data } }));
  }

  test('moves objects from SQLite to another directory and to etcd', async () => {
    using directory = temporaryDirectory('snapshot');
    await using etcd = await startEtcd();
    const file = directory.join('backup.jsonl');
    await serving(directory.join('first'), [], async (call) => {
      await call('create', 'configmap', 'kept', '--from-literal=color=blue');
    });
    expect((await capstan('snapshot', 'save', file, '--data-dir', directory.join('first'))).stdout).toMatch(
      /^saved \d+ objects at revision \d+ to /,
    );

    expect((await capstan('snapshot', 'restore', file, '--data-dir', directory.join('second'))).stdout).toMatch(/^restored \d+ objects/);
    const endpoints = ['--etcd-endpoints', etcd.endpoints.join(',')];
    expect((await capstan('snapshot', 'restore', file, ...endpoints)).stdout).toMatch(/^restored \d+ objects/);

    for (const [data, args] of [
      ['second', []],
      ['third', endpoints],
    ] as const) {
      await serving(directory.join(data), args, async (call) => {
        expect(await call('get', 'configmap', 'kept', '-o', 'jsonpath={.data.color}')).toBe('blue');
      });
    }
  });

  test('is taken from a server that runs', async () => {
    using directory = temporaryDirectory('snapshot');
    const file = directory.join('backup.jsonl');
    await serving(directory.join('live'), [], async (call) => {
      await call('create', 'configmap', 'kept', '--from-literal=color=green');
      const saved = await capstan('snapshot', 'save', file, '--data-dir', directory.join('live'));
      expect([saved.code, saved.stdout]).toEqual([0, expect.stringContaining('saved what the running server holds')]);
      await call('delete', 'configmap', 'kept');
    });
    await capstan('snapshot', 'restore', file, '--data-dir', directory.join('copy'));
    await serving(directory.join('copy'), [], async (call) => {
      expect(await call('get', 'configmap', 'kept', '-o', 'jsonpath={.data.color}')).toBe('green');
    });
  });

  test('refuses a store that holds something, a file that is cut off, and one that is not there', async () => {
    using directory = temporaryDirectory('snapshot');
    await serving(directory.join('full'), [], async () => {});
    const file = directory.join('backup.jsonl');
    await capstan('snapshot', 'save', file, '--data-dir', directory.join('full'));
    const full = await capstan('snapshot', 'restore', file, '--data-dir', directory.join('full'));
    expect([full.code, full.stderr]).toEqual([2, expect.stringContaining('not empty')]);
    writeFileSync(directory.join('cut.jsonl'), '{"format":"capstan-store","version":1,"revision":3}\n');
    const cut = await capstan('snapshot', 'restore', directory.join('cut.jsonl'), '--data-dir', directory.join('new'));
    expect([cut.code, cut.stderr]).toEqual([9, expect.stringContaining('cut off')]);
    const missing = await capstan('snapshot', 'restore', directory.join('none.jsonl'), '--data-dir', directory.join('new'));
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('none.jsonl')]);
    expect(existsSync(directory.join('none.jsonl'))).toBe(false);
  });
});
