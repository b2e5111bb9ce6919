import { copyFileSync, mkdirSync } from 'node:fs';
import { buildCapstan, Child, capstanProgram, freePort, run, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { expectedStreams, streamChecks } from '../support/stream-probe.ts';

const patience = { timeout: 60_000, interval: 200 };

await describeWith(['clientgo-probe'], "client-go's streams through the tunnel of a node agent", ({ 'clientgo-probe': probe }) => {
  const stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory('streams'));
  const data = directory.join('data');
  const environment = { HOME: directory.path, KUBECONFIG: `${data}/admin.kubeconfig` };
  const work = directory.join('work');
  const capstan = (...args: string[]) =>
    run(process.execPath, [capstanProgram, ...args], { environment, directory: work, timeout: 60_000 });

  beforeAll(async () => {
    await buildCapstan();
    // Units do not see the home of whoever runs the agent, so it is uploaded.
    mkdirSync(work);
    copyFileSync(probe, `${work}/probe`);
    const args = ['up', '--data-dir', data, '--port', String(await freePort())];
    const up = new Child('capstan up', [process.execPath, capstanProgram, ...args], { environment });
    stack.defer(() => up.stop(15_000));
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
    await vi.waitFor(async () => expect((await capstan('node', 'list')).stdout).toMatch(/\sReady\s/), patience);
    await vi.waitFor(async () => expect((await capstan('ws', 'use', 'root:main:default')).code).toBe(0), patience);
    expect(await capstan('offering', 'create', 'small', '--cpu', '200m', '--memory', '128Mi')).toMatchObject({ code: 0 });
    await vi.waitFor(async () => expect((await capstan('offering', 'list')).stdout).toContain('small'), patience);
    // Its files are a file system of their own, which the agent removes with it.
    stack.defer(async () => expect(await capstan('rm', '--force', 'echo')).toMatchObject({ code: 0 }));
    const unit = ['--network', 'none', '-d', '--name', 'echo', '--', './probe', '-serve', '9000'];
    expect(await capstan('run', ...unit)).toMatchObject({ code: 0 });
    expect(await capstan('wait', 'echo', '--for', 'running')).toMatchObject({ code: 0 });
    await vi.waitFor(async () => expect((await capstan('logs', 'echo')).stdout).toBe('ready\n'), patience);
  });
  afterAll(() => stack.disposeAsync());

  test('every check passes', async () => {
    const kubeconfig = `${data}/admin.kubeconfig`;
    const checks = await streamChecks([probe], ['-kubeconfig', kubeconfig, '-stream', 'echo', '-container', 'unit']);
    expect(checks).toEqual(expectedStreams());
  }, 120_000);
});
