import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, uptime } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeUnitStatus } from '@capstan/api';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { startTime } from '../../processes/proc.ts';
import { openExecDriver } from '../drivers/exec/open.ts';
import { newRecord, type UnitRecord } from '../records/record.ts';
import { guardedLimit, guardedTimes, guardedUnit } from '../testing/guarded.ts';
import { GuardProcesses } from './guards.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-guards-'));
const agents = new Set<ChildProcess>();
const folders: string[] = [];
const patience = { timeout: 20_000, interval: 20 };

afterAll(async () => {
  for (const agent of agents) agent.kill('SIGKILL');
  for (const folder of folders) {
    const driver = await openExecDriver({ directory: join(folder, 'exec'), known: { isolation: 'none' } });
    for (const id of await driver.list()) await driver.remove(id);
  }
  rmSync(directory, { recursive: true });
});

interface Node {
  readonly agent: ChildProcess;
  readonly statuses: NodeUnitStatus[];
  readonly folder: string;
}

function machine(): string {
  const folder = join(directory, String(folders.length));
  mkdirSync(folder);
  folders.push(folder);
  return folder;
}

/** Ids of units are never used twice, also not on different machines. */
const unitOf = (folder: string): string => `guarded-${process.pid}-${basename(folder)}`;

async function startAgent(folder: string, isolation = 'none'): Promise<Node> {
  const program = new URL('../testing/guarded-agent.ts', import.meta.url).pathname;
  const agent = spawn(process.execPath, ['--no-warnings', program, folder, unitOf(folder), isolation], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  agents.add(agent);
  const statuses: NodeUnitStatus[] = [];
  createInterface({ input: agent.stdout! }).on('line', (line) => statuses.push(JSON.parse(line) as NodeUnitStatus));
  return { agent, statuses, folder };
}

async function running(folder: string, isolation?: string): Promise<Node & { readonly pid: number; readonly family: Family }> {
  const node = await startAgent(folder, isolation);
  await vi.waitFor(() => expect(node.statuses.at(-1)).toMatchObject({ phase: 'Running' }), patience);
  const pid = node.statuses.at(-1)!.pid!;
  await vi.waitFor(async () => expect((await familyOf(pid)).size).toBeGreaterThan(2), patience);
  return { ...node, pid, family: await familyOf(pid) };
}

type Family = ReadonlyMap<number, string>;

/** A process and its children, with their start times. */
async function familyOf(pid: number): Promise<Family> {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  const entries = await Promise.all([pid, ...children].map(async (one) => [one, (await startTime(one)) ?? ''] as const));
  return new Map(entries.filter(([, start]) => start !== ''));
}

async function alive(family: Family): Promise<number[]> {
  const found = await Promise.all([...family].map(async ([pid, start]) => ((await startTime(pid)) === start ? [pid] : [])));
  return found.flat();
}

const cut = (folder: string): void => writeFileSync(join(folder, 'cut'), '');
const contactAge = (folder: string): number =>
  uptime() * 1_000 - (JSON.parse(readFileSync(join(folder, 'units', 'contact'), 'utf8')) as { uptime: number }).uptime;

function guardOf(folder: string): number {
  return Number(readFileSync(join(folder, 'units', unitOf(folder), 'guard'), 'utf8').split(' ')[0]);
}

/** Resolves with the age of the contact when the main program was first seen dead. */
async function endOf({ folder, pid, family }: { folder: string; pid: number; family: Family }): Promise<number> {
  let age = 0;
  await vi.waitFor(async () => {
    expect(await startTime(pid)).not.toBe(family.get(pid));
    // Not before: this process may have slept between the two.
    age = contactAge(folder);
  }, patience);
  await vi.waitFor(async () => expect(await alive(family)).toEqual([]), patience);
  return age;
}

async function killed(agent: ChildProcess): Promise<void> {
  agent.kill('SIGKILL');
  await once(agent, 'exit');
}

describe.concurrent('the guard of a unit on a node that is cut off', { timeout: 60_000 }, () => {
  test('ends everything of the unit without the agent, and not too early; the next agent reports it as fenced', async () => {
    const folder = machine();
    const node = await running(folder);
    await killed(node.agent);
    expect(await endOf(node)).toBeGreaterThanOrEqual(guardedLimit);
    // Also if the control plane is reached at once.
    const next = await startAgent(folder);
    await vi.waitFor(() => expect(next.statuses.at(-1)).toMatchObject({ phase: 'Ended', reason: 'Fenced' }), patience);
    expect(next.statuses.filter(({ phase }) => phase === 'Running')).toEqual([]);
  });

  test('ends it while the agent is suspended', async () => {
    const node = await running(machine());
    node.agent.kill('SIGSTOP');
    expect(await endOf(node)).toBeGreaterThanOrEqual(guardedLimit);
    node.agent.kill('SIGCONT');
    await vi.waitFor(() => expect(node.statuses.at(-1)).toMatchObject({ phase: 'Ended', reason: 'Fenced' }), patience);
  });

  test('lets a live agent end it first', async () => {
    const node = await running(machine());
    cut(node.folder);
    await vi.waitFor(() => expect(node.statuses.at(-1)).toMatchObject({ phase: 'Ended', reason: 'Fenced' }), patience);
    expect(existsSync(join(node.folder, 'units', unitOf(node.folder), 'fenced'))).toBe(false);
    expect(await alive(node.family)).toEqual([]);
  });

  test('does nothing while the agent is connected, is found again by the next one, and ends with the program', async () => {
    const folder = machine();
    const node = await running(folder);
    const guard = guardOf(folder);
    await killed(node.agent);
    const next = await running(folder);
    expect(next.pid).toBe(node.pid);
    // Longer than an unconnected unit would live.
    await sleep(guardedLimit + 1_000);
    expect(await alive(node.family)).toContain(node.pid);
    expect(guardOf(folder)).toBe(guard);
    cut(folder);
    await killed(next.agent);
    expect(await endOf(node)).toBeGreaterThanOrEqual(guardedLimit);
    await vi.waitFor(async () => expect(await startTime(guard)).toBeUndefined(), patience);
  });

  test('is started again when it was killed, by the same agent and by the next', async () => {
    const folder = machine();
    const node = await running(folder);
    const first = guardOf(folder);
    process.kill(first, 'SIGKILL');
    await vi.waitFor(() => expect(guardOf(folder)).not.toBe(first), patience);
    const second = guardOf(folder);
    await killed(node.agent);
    process.kill(second, 'SIGKILL');
    await startAgent(folder).then(async (next) => {
      await vi.waitFor(() => expect(guardOf(folder)).not.toBe(second), patience);
      await killed(next.agent);
    });
    expect(await endOf(node)).toBeGreaterThanOrEqual(guardedLimit);
  });
});

function recordOf(folder: string): UnitRecord {
  const { spec } = guardedUnit(unitOf(folder));
  return {
    ...newRecord({ name: unitOf(folder), uid: '', generation: 1, spec, acceptedAt: { wall: 0, boot: '', uptime: 0 } }),
    incarnation: 0,
  };
}

function guardsIn(folder: string, more: Partial<ConstructorParameters<typeof GuardProcesses>[0]> = {}): GuardProcesses {
  const options = { contact: join(folder, 'contact'), folder: () => folder, times: guardedTimes, groups: [], log: () => {} };
  return new GuardProcesses({ ...options, ...more });
}

function storeContact(folder: string, change: { readonly age?: number; readonly boot?: string; readonly wall?: number } = {}): void {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const contact = { wall: change.wall ?? Date.now(), boot: change.boot ?? boot, uptime: uptime() * 1_000 - (change.age ?? 0) };
  writeFileSync(join(folder, 'contact'), JSON.stringify(contact));
}

describe('a guard', () => {
  test.each([
    ['without Perl', {}, { perl: '/nowhere/perl' }, 'ENOENT'],
    ['without contact for too long', { age: guardedLimit }, {}, 'cannot reach the control plane'],
    ['after a restart of the machine', { boot: 'another' }, {}, 'cannot reach the control plane'],
  ])('%s refuses, so that the unit does not start', async (_case, contact, options, message) => {
    const folder = machine();
    storeContact(folder, contact);
    await expect(guardsIn(folder, options).arm(recordOf(folder))).rejects.toThrow(message);
  });

  test('leaves the group of the agent, and is ended if it cannot say what it watches', async () => {
    const folder = machine();
    storeContact(folder);
    const group = join(folder, 'group');
    mkdirSync(group);
    writeFileSync(join(group, 'cgroup.procs'), '');
    const program = spawn('/bin/sleep', ['600']);
    const stop = new AbortController();
    await guardsIn(folder, { groups: [group] }).keep(recordOf(folder), program.pid!, stop.signal);
    expect(readFileSync(join(group, 'cgroup.procs'), 'utf8')).toBe('0');
    stop.abort();
    process.kill(guardOfFile(folder), 'SIGKILL');
    rmSync(join(folder, 'guard'));
    mkdirSync(join(folder, 'guard.new'));
    const mute = guardsIn(folder, { longestStart: 300 });
    await expect(mute.keep(recordOf(folder), program.pid!, AbortSignal.abort())).rejects.toThrow('does not say that it watches');
    program.kill('SIGKILL');
  });

  test('whose agent ended before it could name the program finds it by its mark', async () => {
    const folder = machine();
    const program = spawn('/bin/sleep', ['600'], { env: { CAPSTAN_UNIT: unitOf(folder) } });
    const guards = `${new URL('./guards.ts', import.meta.url).pathname}`;
    const script = `
      const { GuardProcesses } = await import(${JSON.stringify(guards)});
      const guards = new GuardProcesses({ contact: ${JSON.stringify(join(folder, 'contact'))}, folder: () => ${JSON.stringify(folder)},
        times: ${JSON.stringify(guardedTimes)}, groups: [], log: () => {} });
      process.stdout.write('loaded');
      await new Promise((resolve) => process.stdin.once('data', resolve));
      await guards.arm(${JSON.stringify(recordOf(folder))});
      process.kill(process.pid, 'SIGKILL');`;
    const agent = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(agent.stdout, 'data');
    storeContact(folder, { age: guardedLimit - 1_000 });
    agent.stdin.write('arm');
    const [[, signal]] = (await Promise.all([once(program, 'exit'), once(agent, 'exit')])) as [[number | null, string | null], unknown];
    expect(signal).toBe('SIGKILL');
    expect(readFileSync(join(folder, 'fenced'), 'utf8')).toBe('0');
  });

  test('reads no clock but that of the machine since its start, and never a part of a contact', async () => {
    const folder = machine();
    storeContact(folder, { wall: Date.now() - 365 * 86_400_000 });
    const program = spawn('/bin/sleep', ['600']);
    const guards = guardsIn(folder);
    const stop = new AbortController();
    await guards.arm(recordOf(folder));
    await guards.keep(recordOf(folder), program.pid!, stop.signal);
    writeFileSync(join(folder, 'contact'), '{"wall":1,"boot":"x');
    await sleep(300);
    expect(program.exitCode ?? program.signalCode).toBe(null);
    stop.abort();
    program.kill('SIGKILL');
    await vi.waitFor(async () => expect(await startTime(guardOfFile(folder))).toBeUndefined(), patience);
    expect(await guards.hasEnded(recordOf(folder))).toBe(false);
  });
});

function guardOfFile(folder: string): number {
  return Number(readFileSync(join(folder, 'guard'), 'utf8').split(' ')[0]);
}

const probed = await openExecDriver({ directory: machine() });

describe.skipIf(probed.isolation !== 'full')('the guard of an isolated unit', { timeout: 60_000 }, () => {
  test('ends everything in its namespaces, also if the launcher hangs', async () => {
    const folder = machine();
    const node = await running(folder, 'full');
    const monitor = Number(readFileSync(join(folder, 'exec', 'units', unitOf(folder), '0', 'monitor'), 'utf8').split('\0')[1]);
    await killed(node.agent);
    process.kill(monitor, 'SIGSTOP');
    try {
      expect(await endOf(node)).toBeGreaterThanOrEqual(guardedLimit);
    } finally {
      process.kill(monitor, 'SIGCONT');
    }
  });
});
