import { mkdirSync } from 'node:fs';
import { buildCapstan, Child, capstanProgram, freePort, requireTool, run, temporaryDirectory } from '@capstan/testbed';
import { describeUnless, skipReason } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Screen } from '../support/screen.ts';

await buildCapstan();

const patience = { timeout: 60_000, interval: 200 };
const needsRoot = process.getuid?.() === 0 ? undefined : 'units are isolated only by root';

/** The real program; `k9s.test.ts` makes its requests. */
describeUnless(needsRoot ?? (await skipReason(['k9s', 'kubectl'])), 'k9s in a terminal', () => {
  const stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory('k9s'));
  const data = directory.join('data');
  const environment = { HOME: directory.path, K9S_CONFIG_DIR: directory.join('k9s'), KUBECONFIG: `${data}/admin.kubeconfig` };
  const capstan = (...args: string[]) =>
    run(process.execPath, [capstanProgram, ...args], { environment, directory: directory.path, timeout: 60_000 });
  let k9s: Screen;

  beforeAll(async () => {
    mkdirSync(environment.K9S_CONFIG_DIR);
    const words = ['up', '--data-dir', data, '--port', String(await freePort())];
    const up = new Child('capstan up', [process.execPath, capstanProgram, ...words], { environment });
    stack.defer(() => up.stop(15_000));
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
    await vi.waitFor(async () => expect((await capstan('node', 'list')).stdout).toMatch(/\sReady\s/), patience);
    expect(await capstan('offering', 'create', 'small', '--cpu', '200m', '--memory', '128Mi')).toMatchObject({ code: 0 });
    await vi.waitFor(async () => expect(await capstan('ws', 'use', 'root:main:default')).toMatchObject({ code: 0 }), patience);
    const program = ['--network', 'none', '--no-upload', '--name', 'seen', '--', 'sh', '-c', 'while :; do echo tick; sleep 1; done'];
    await vi.waitFor(async () => expect(await capstan('run', '--detach', ...program)).toMatchObject({ code: 0 }), patience);
    expect(await capstan('wait', 'seen', '--for', 'running')).toMatchObject({ code: 0 });
    // A unit outlives its agent, and so would its processes.
    stack.defer(async () => expect(await capstan('rm', '--force', 'seen')).toMatchObject({ code: 0 }));
    const flags = ['--namespace', 'default', '--command', 'pods', '--splashless', '--logFile', directory.join('k9s.log')];
    k9s = stack.use(new Screen([await requireTool('k9s'), ...flags], environment));
  });
  afterAll(() => stack.disposeAsync());

  test('shows the pod of a unit, its output and its description, opens a shell, and says why it cannot be deleted', async () => {
    await k9s.shows('pods(default)', 'seen', '1/1', 'Running');
    k9s.press('l');
    await k9s.shows('Autoscroll', 'tick');
    k9s.press('\x1b');
    await k9s.shows('seen', 'Running');
    k9s.press('d');
    await k9s.shows('Controlled By:', 'GPUUnit/seen');
    k9s.press('\x1b');
    await k9s.shows('seen', 'Running');
    k9s.press('s');
    await k9s.shows('<<K9s-Shell>>', 'unit@seen');
    k9s.press('echo $((40 + 2))\r');
    await k9s.shows('42');
    k9s.press('exit\r');
    await k9s.shows('seen', 'Running');
    // Jumps to the owner.
    k9s.press('J');
    await k9s.shows('gpuunits', 'small', 'runs on');
    k9s.press(':pods\r');
    await k9s.shows('pods(default)', 'seen');
    k9s.press('\x04');
    await k9s.shows('Delete pods default/seen?');
    k9s.press('\t\r');
    await k9s.shows('mirrors the GPU unit seen');
  });
});
