import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, uptime } from 'node:os';
import { join } from 'node:path';
import type { NodeUnitStatus } from '@capstan/api';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { patience } from '../../suite/unit-machines.ts';
import type { ExecDriver } from '../drivers/exec/driver.ts';
import { openExecDriver } from '../drivers/exec/open.ts';
import { type CrashPoint, crashing, crashingUnit } from '../testing/crash-points.ts';
import { startEngine } from '../testing/engine.ts';
import { FakeDriver } from '../testing/fake-driver.ts';
import { nodeUnit } from '../testing/node-units.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-crash-'));
const drivers: ExecDriver[] = [];
afterAll(async () => {
  for (const driver of drivers) for (const id of await driver.list()) await driver.remove(id);
  rmSync(directory, { recursive: true });
});
const now = () => ({ wall: Date.now(), boot: 'boot', uptime: uptime() * 1_000 });
const long = { ...patience, timeout: 20_000 };

/** Runs an agent until it kills itself. */
async function crashAt(state: string, point: CrashPoint, marker: string): Promise<void> {
  const program = new URL('../testing/crash-run.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--no-warnings', program, state, point, marker], { stdio: ['ignore', 'inherit', 'inherit'] });
  const limit = setTimeout(() => child.kill('SIGTERM'), 30_000);
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  clearTimeout(limit);
  expect(signal).toBe('SIGKILL');
}

describe('an agent that is killed', () => {
  test.each<[CrashPoint, Partial<NodeUnitStatus> | 'gone', number]>([
    ['accepted', { phase: 'Running' }, 1],
    ['preparing', { phase: 'Running' }, 1],
    ['starting', { phase: 'Running' }, 1],
    ['recorded', { phase: 'Lost', reason: 'Lost' }, 0],
    ['started', { phase: 'Running' }, 1],
    ['ended', { phase: 'Ended', exitCode: 3 }, 1],
    ['restarting', { phase: 'Running', restarts: 1 }, 2],
    ['stopping', { phase: 'Ended', reason: 'Stopped' }, 1],
    ['stopped', { phase: 'Ended', reason: 'Stopped' }, 1],
    ['removing', 'gone', 1],
    ['removed', 'gone', 1],
  ])('when the unit is %s leaves it in a state that the next agent goes on from: %j', async (point, expected, starts) => {
    const state = join(directory, point);
    mkdirSync(state);
    const marker = join(state, 'marker');
    await crashAt(state, point, marker);
    const driver = await openExecDriver({ directory: join(state, 'exec'), known: { isolation: 'none' } });
    drivers.push(driver);
    await using agent = await startEngine({ directory: state, driver, now, allowUnisolated: true });
    if (expected === 'gone') {
      await vi.waitFor(async () => expect(await driver.list()).toEqual([]), long);
      await vi.waitFor(() => expect(existsSync(join(agent.records.folder(crashingUnit), 'uploads'))).toBe(false), long);
      expect(agent.engine.names).toEqual([]);
    } else {
      // As the control plane has it, whatever was reported to it before.
      await agent.engine.accept(crashing(point, marker));
      await vi.waitFor(() => expect(agent.status(crashingUnit)).toMatchObject(expected), long);
    }
    await vi.waitFor(() => expect(startsIn(marker)).toBe(starts), long);
    await agent.engine.remove(crashingUnit);
    await vi.waitFor(async () => expect(await driver.list()).toEqual([]), long);
    await vi.waitFor(() => expect(processesWith(marker)).toEqual([]), long);
    expect(startsIn(marker)).toBe(starts);
  });
});

function startsIn(marker: string): number {
  return existsSync(marker) ? readFileSync(marker, 'utf8').split('\n').length - 1 : 0;
}

/** The processes of a test whose command names its file. */
function processesWith(text: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && Number(pid) !== process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
    } catch {
      return false;
    }
  });
}

describe.skipIf(process.getuid?.() !== 0)('a node with a full disk', () => {
  test('starts nothing, says so, and goes on when there is space again', async () => {
    const state = join(directory, 'full');
    mkdirSync(state);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', state]);
    try {
      const driver = new FakeDriver();
      await using agent = await startEngine({
        directory: state,
        driver,
        now,
        times: { restartDelay: 0, retryDelay: 20, longestRestartDelay: 50 },
      });
      await agent.engine.accept(nodeUnit('before-1', { restartPolicy: 'Always' }));
      await vi.waitFor(() => expect(driver.starts).toEqual(['before-1 0']), long);
      const filler = join(state, 'filler');
      expect(() => writeFileSync(filler, Buffer.alloc(1 << 20))).toThrow('ENOSPC');
      const accepting = agent.engine.accept(nodeUnit('after-1'));
      await vi.waitFor(() => expect(agent.status('after-1')).toMatchObject({ phase: 'Pending', reason: 'DiskFull' }), long);
      driver.exit('before-1', 1);
      await vi.waitFor(() => expect(agent.status('before-1')).toMatchObject({ phase: 'Preparing', reason: 'DiskFull' }), long);
      expect(driver.starts).toEqual(['before-1 0']);
      rmSync(filler);
      await accepting;
      await vi.waitFor(() => expect(driver.starts.toSorted()).toEqual(['after-1 0', 'before-1 0', 'before-1 1']), long);
      await vi.waitFor(() => expect(agent.status('after-1')).toMatchObject({ phase: 'Running' }), long);
    } finally {
      execFileSync('umount', ['-l', state]);
    }
  });
});
