import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildCapstan, requireTool } from '@capstan/testbed';
import { describeUnless, skipReason } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, test } from 'vitest';
import { Screen } from '../support/screen.ts';
import { seenUnitProblem, startSeenUnit } from '../support/seen-unit.ts';

await buildCapstan();

/** The real program; `k9s.test.ts` makes its requests. */
describeUnless(seenUnitProblem ?? (await skipReason(['k9s', 'kubectl'])), 'k9s in a terminal', () => {
  const stack = new AsyncDisposableStack();
  let k9s: Screen;

  beforeAll(async () => {
    const { home, kubeconfig } = stack.use(await startSeenUnit(['sh', '-c', 'while :; do echo tick; sleep 1; done']));
    const environment = { HOME: home, KUBECONFIG: kubeconfig, K9S_CONFIG_DIR: join(home, 'k9s') };
    mkdirSync(environment.K9S_CONFIG_DIR);
    const flags = ['--namespace', 'default', '--command', 'pods', '--splashless', '--logFile', join(home, 'k9s.log')];
    k9s = stack.use(new Screen([await requireTool('k9s'), ...flags], environment));
  }, 240_000);
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
