import { resolve } from 'node:path';
import { SystemdMachine } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');

describeUnless(await SystemdMachine.problem(), 'on a machine with systemd', () => {
  test('the driver of the node agent passes the suite of drivers', { timeout: 300_000 }, async () => {
    await using machine = await SystemdMachine.start();
    const vitest = resolve(root, 'node_modules/vitest/vitest.mjs');
    const { code, stdout, stderr } = await machine.run(
      ...['env', '-C', root, 'NO_COLOR=1', process.execPath, vitest, 'run', 'packages/node-agent/src/processes/systemd.test.ts'],
    );
    expect({ code, output: stdout + stderr }).toEqual({ code: 0, output: expect.stringMatching(/Tests\s+\d\d passed/) });
    expect(stdout + stderr).not.toContain('SKIPPED');
  });
});
