import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { launcherProgram } from './launcher.ts';

test('the launcher passes the checks of Perl, and loads no modules', () => {
  const { status, stderr } = spawnSync('perl', ['-Mstrict', '-Mwarnings', '-c', '-'], { input: launcherProgram, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '- syntax OK\n' });
  expect(launcherProgram).not.toMatch(/^\s*(use|require)\s/m);
});
