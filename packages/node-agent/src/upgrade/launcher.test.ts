import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Installation } from './installation.ts';
import { launcherScript, restartCode } from './launcher.ts';

let prefix: string;
let launcher: ChildProcess | undefined;
const patience = { timeout: 20_000, interval: 20 };
const read = (name: string): string => (existsSync(join(prefix, name)) ? readFileSync(join(prefix, name), 'utf8') : '');

/** A version whose agent runs a shell script. It writes its name first. */
function version(name: string, agent: string): void {
  const folder = join(prefix, 'versions', name, 'bin');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'capstan'), `#!/bin/sh\necho ${name} "$@" >> ${prefix}/started\n${agent}\n`);
  chmodSync(join(folder, 'capstan'), 0o755);
}

function launch(): Promise<number | null> {
  writeFileSync(join(prefix, 'launch'), launcherScript);
  launcher = spawn('sh', [join(prefix, 'launch'), '--prefix', prefix, '--', '--flag'], {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], CAPSTAN_TRIAL_SECONDS: '1' },
  });
  return new Promise((resolve) => launcher!.once('exit', resolve));
}

beforeEach(() => {
  prefix = mkdtempSync(join(tmpdir(), 'capstan-launcher-'));
  mkdirSync(join(prefix, 'versions'));
});
afterEach(() => {
  launcher?.kill('SIGKILL');
  for (const pid of read('pids').split('\n').filter(Boolean))
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has ended.
    }
  rmSync(prefix, { recursive: true });
});

const waits = `echo $$ >> "$CAPSTAN_AGENT_PREFIX/pids"; exec sleep 600`;
const confirms = `rm -f "$CAPSTAN_AGENT_PREFIX/trial"; ${waits}`;

test('is a script for a POSIX shell', () => {
  execFileSync('sh', ['-n'], { input: launcherScript });
});

test('starts the next version when the agent asks for it, and keeps it when it reports', async () => {
  version('one', `[ -e ${prefix}/switched ] && exit 9; while [ ! -e ${prefix}/switched ]; do sleep 0.05; done; exit ${restartCode}`);
  version('two', confirms);
  symlinkSync('versions/one', join(prefix, 'current'));
  void launch();
  await vi.waitFor(() => expect(read('started')).toBe('one node-agent --flag\n'), patience);
  await new Installation(prefix).switchTo('two', 'request');
  writeFileSync(join(prefix, 'switched'), '');
  await vi.waitFor(() => expect(read('pids')).not.toBe(''), patience);
  expect(read('started')).toBe('one node-agent --flag\ntwo node-agent --flag\n');
  expect(readlinkSync(join(prefix, 'current'))).toBe('versions/two');
  expect(await new Installation(prefix).givenUp()).toBeUndefined();
});

test.each([
  ['ends', 'exit 9', 'ended with the exit code 9 before it reported to the control plane'],
  ['hangs', waits, 'did not report to the control plane within 1 seconds'],
])('returns to the version before if the new one %s', async (_, agent, why) => {
  // The one before has been on trial itself, which must not confuse the two.
  version('zero', `exit ${restartCode}`);
  version(
    'one',
    `if [ -e ${prefix}/failed ]; then ${waits}; fi; rm -f ${prefix}/trial; : > ${prefix}/confirmed; while [ ! -e ${prefix}/switched ]; do sleep 0.05; done; exit ${restartCode}`,
  );
  version('two', agent);
  symlinkSync('versions/zero', join(prefix, 'current'));
  const installation = new Installation(prefix);
  await installation.switchTo('one', 'first');
  void launch();
  await vi.waitFor(() => expect(existsSync(join(prefix, 'confirmed'))).toBe(true), patience);
  await installation.switchTo('two', 'second');
  writeFileSync(join(prefix, 'switched'), '');
  await vi.waitFor(async () => expect(await installation.givenUp()).toEqual({ version: 'two', why, request: 'second' }), patience);
  await vi.waitFor(() => expect(read('started').trim().split('\n').at(-1)).toBe('one node-agent --flag'), patience);
  expect(readlinkSync(join(prefix, 'current'))).toBe('versions/one');
  expect(existsSync(join(prefix, 'trial'))).toBe(false);
});

test('ends with an agent that the control plane refuses, and when it is told to', async () => {
  version('one', 'exit 14');
  symlinkSync('versions/one', join(prefix, 'current'));
  expect(await launch()).toBe(14);
  version('one', `trap 'exit 0' TERM; echo $$ >> ${prefix}/pids; while :; do sleep 0.1; done`);
  const ended = launch();
  await vi.waitFor(() => expect(read('pids')).not.toBe(''), patience);
  launcher!.kill('SIGTERM');
  await ended;
  expect(() => process.kill(Number(read('pids').trim()), 0)).toThrow();
  expect(existsSync(join(prefix, 'agent.pid'))).toBe(false);
});
