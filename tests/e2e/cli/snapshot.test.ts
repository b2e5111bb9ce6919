import { existsSync, readFileSync, writeFileSync } from 'node:fs';
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
    const file = directory.join('backup.ndjson');
    await serving(directory.join('first'), [], async (call) => {
      await call('create', 'configmap', 'kept', '--from-literal=color=blue');
    });
    expect((await capstan('snapshot', 'save', file, '--data-dir', directory.join('first'))).stdout).toMatch(/^saved \d+ objects to /);

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

  test('is saved from a running server', async () => {
    using directory = temporaryDirectory('snapshot');
    const file = directory.join('backup.ndjson');
    await serving(directory.join('live'), [], async (call) => {
      await call('create', 'configmap', 'kept', '--from-literal=color=green');
      const saved = await capstan('snapshot', 'save', file, '--data-dir', directory.join('live'));
      expect([saved.code, saved.stdout]).toEqual([0, expect.stringMatching(/^saved \d+ objects to /)]);
      await call('delete', 'configmap', 'kept');
    });
    await capstan('snapshot', 'restore', file, '--data-dir', directory.join('copy'));
    await serving(directory.join('copy'), [], async (call) => {
      expect(await call('get', 'configmap', 'kept', '-o', 'jsonpath={.data.color}')).toBe('green');
    });
  });

  test('rejects a store that is not empty, a truncated file, and a missing one', async () => {
    using directory = temporaryDirectory('snapshot');
    await serving(directory.join('full'), [], async () => {});
    const file = directory.join('backup.ndjson');
    await capstan('snapshot', 'save', file, '--data-dir', directory.join('full'));
    const full = await capstan('snapshot', 'restore', file, '--data-dir', directory.join('full'));
    expect([full.code, full.stderr]).toEqual([2, expect.stringContaining('not empty')]);
    writeFileSync(directory.join('cut.ndjson'), '{"format":"capstan-store","version":1,"revision":3}\n');
    const cut = await capstan('snapshot', 'restore', directory.join('cut.ndjson'), '--data-dir', directory.join('new'));
    expect([cut.code, cut.stderr]).toEqual([11, expect.stringMatching(/the snapshot .*cut.ndjson is damaged: .*truncated/)]);
    expect(existsSync(directory.join('new'))).toBe(false);
    const missing = await capstan('snapshot', 'restore', directory.join('none.ndjson'), '--data-dir', directory.join('new'));
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('none.ndjson')]);
    expect(existsSync(directory.join('none.ndjson'))).toBe(false);
  });

  test('does not take a mistyped directory for an empty server', async () => {
    using directory = temporaryDirectory('snapshot');
    const typo = await capstan('snapshot', 'save', directory.join('a.ndjson'), '--data-dir', directory.join('typo'));
    expect([typo.code, typo.stderr]).toEqual([2, expect.stringContaining('is not the data directory of a server')]);
    expect([existsSync(directory.join('typo')), existsSync(directory.join('a.ndjson'))]).toEqual([false, false]);
  });

  test('overwrites a file only with --force, and says what it does not contain', async () => {
    using directory = temporaryDirectory('snapshot');
    const [file, data] = [directory.join('backup.ndjson'), directory.join('data')];
    await serving(data, [], async () => {});
    writeFileSync(file, 'precious');
    const refused = await capstan('snapshot', 'save', file, '--data-dir', data);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('overwrite it with --force')]);
    expect(readFileSync(file, 'utf8')).toBe('precious');
    const saved = await capstan('snapshot', 'save', file, '--data-dir', data, '--force');
    expect([saved.code, saved.stdout]).toEqual([0, expect.stringContaining(`${data}/pki is not part of it`)]);
    const silent = await capstan('snapshot', 'save', file, '--data-dir', data, '--force', '--without-keys');
    expect(silent.stdout).not.toContain('not part of it');
  });

  test('contains the encrypted keys, so that a restored server accepts the old kubeconfig', async () => {
    using directory = temporaryDirectory('snapshot');
    const [file, secret, wrong] = [directory.join('backup.ndjson'), directory.join('secret'), directory.join('wrong')];
    writeFileSync(secret, 'correct horse\n');
    writeFileSync(wrong, 'battery staple\n');
    const old = directory.join('old');
    await serving(old, [], async () => {});
    const saved = await capstan('snapshot', 'save', file, '--data-dir', old, '--passphrase-file', secret);
    expect([saved.code, saved.stdout]).toEqual([0, expect.stringContaining('objects and the keys in pki/ to')]);
    for (const pem of [readFileSync(`${old}/pki/ca.key`, 'utf8'), 'PRIVATE KEY']) expect(readFileSync(file, 'utf8')).not.toContain(pem);
    const fresh = directory.join('fresh');
    for (const [args, reason] of [
      [[], 'Name the passphrase with --passphrase-file'],
      [['--passphrase-file', wrong], 'the passphrase is wrong'],
    ] as const) {
      const refused = await capstan('snapshot', 'restore', file, '--data-dir', fresh, ...args);
      expect([refused.code, refused.stderr, existsSync(fresh)]).toEqual([2, expect.stringContaining(reason), false]);
    }
    const restored = await capstan('snapshot', 'restore', file, '--data-dir', fresh, '--passphrase-file', secret);
    expect([restored.code, restored.stdout]).toEqual([0, expect.stringMatching(/^restored \d+ objects from \S+\n$/)]);
    await serving(fresh, [], async () => {
      const server = /server: (\S+)/.exec(readFileSync(`${fresh}/admin.kubeconfig`, 'utf8'))![1]!;
      const args = ['--kubeconfig', `${old}/admin.kubeconfig`, '--server', server, 'get', '--raw', '/readyz'];
      expect(await output(kubectl, args, { environment: { HOME: old } })).toBe('ok');
    });
  });

  test('is saved from etcd through the server, and not restored to an etcd that is not empty', async () => {
    using directory = temporaryDirectory('snapshot');
    await using etcd = await startEtcd();
    const endpoints = ['--etcd-endpoints', etcd.endpoints.join(',')];
    const file = directory.join('backup.ndjson');
    await serving(directory.join('data'), endpoints, async () => {
      const saved = await capstan('snapshot', 'save', file, '--data-dir', directory.join('data'));
      expect([saved.code, saved.stdout]).toEqual([0, expect.stringMatching(/^saved \d+ objects/)]);
    });
    const gone = await capstan('snapshot', 'save', directory.join('b.ndjson'), '--data-dir', directory.join('data'));
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('does not answer at https://127.0.0.1:')]);
    const full = await capstan('snapshot', 'restore', file, ...endpoints);
    expect([full.code, full.stderr]).toEqual([2, expect.stringContaining('Name an empty etcd')]);
  });
});
