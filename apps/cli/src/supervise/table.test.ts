import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import type { ProcessDescription } from './description.ts';
import { ProcessStates } from './states.ts';
import { superviseAll } from './table.ts';
import { Scripts } from './testing/scripts.ts';

/** The machine may be busy. */
const patiently = { timeout: 15_000 };

const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanup.splice(0)) await clean();
});

/** Reports that it is ready once its file is there. */
const ready = `process.send({ type: 'ready', url: '', kubeconfigPath: '', ports: [], health: { url: '' } })`;

function start(table: readonly ProcessDescription[], program = '') {
  const stop = new AbortController();
  const states = new ProcessStates(() => {});
  const endings: string[] = [];
  const phases = () => Object.fromEntries(states.list.map(({ name, current }) => [name, current.phase]));
  const pidOf = (name: string): number => {
    const current = states.list.find((one) => one.name === name)?.current;
    return current !== undefined && 'pid' in current ? current.pid : 0;
  };
  const watched = new Proxy(states, {
    get(target, key) {
      if (key === 'set')
        return (name: string, phase: Parameters<ProcessStates['set']>[1]) => {
          if (phase.phase === 'stopped') endings.push(name);
          target.set(name, phase);
        };
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const code = superviseAll(table, {
    program,
    states: watched,
    write: () => {},
    writeChild: () => () => {},
    onReady: () => {},
    signal: stop.signal,
    grace: 5_000,
    backoff: { base: 5, max: 50 },
  });
  cleanup.unshift(() => {
    stop.abort();
    return code.catch(() => {});
  });
  return { code, stop, states, phases, pidOf, endings };
}

function program(source: string): string {
  const made = new Scripts();
  cleanup.push(() => made[Symbol.dispose]());
  return made.program('it', source);
}

const sleeping: ProcessDescription['command'] = { type: 'foreign', program: 'sleep', args: ['600'] };
const failing: ProcessDescription['command'] = { type: 'foreign', program: '/nowhere/program', args: [] };
const own: ProcessDescription['command'] = { type: 'own', args: [] };

test('starts a process when those that it needs are ready, and ends it before them', async () => {
  const table = [
    { name: 'server', command: own },
    { name: 'one', command: sleeping, needs: ['server'] },
    { name: 'two', command: sleeping, needs: ['server', 'one'] },
  ];
  const { phases, stop, code, endings } = start(table, program(`setTimeout(() => ${ready}, 100)`));
  expect(phases()).toMatchObject({ one: 'waiting', two: 'waiting' });
  await expect.poll(phases, patiently).toEqual({ server: 'ready', one: 'ready', two: 'ready' });
  stop.abort();
  expect(await code).toBe(0);
  expect(endings).toEqual(['two', 'one', 'server']);
});

test('goes on without an optional process that cannot start', async () => {
  const table = [
    { name: 'server', command: sleeping },
    { name: 'extra', command: failing, needs: ['server'], optional: true },
    { name: 'after', command: sleeping, needs: ['extra'], optional: true },
  ];
  const { phases, states, pidOf } = start(table);
  await expect.poll(() => states.list[1]?.restarts, patiently).toBeGreaterThan(2);
  expect(phases()).toMatchObject({ server: 'ready', after: 'waiting' });
  process.kill(pidOf('server'), 0);
});

test('ends everything if a required process cannot start', async () => {
  const { code, phases } = start([
    { name: 'server', command: sleeping },
    { name: 'broken', command: failing, needs: ['server'] },
  ]);
  expect(await code).toBe(1);
  expect(phases()).toEqual({ server: 'stopped', broken: 'stopped' });
});

test('leaves the others alone when one is killed', async () => {
  const names = ['one', 'two', 'three'];
  const { phases, pidOf } = start(names.map((name) => ({ name, command: sleeping })));
  await expect.poll(phases, patiently).toEqual({ one: 'ready', two: 'ready', three: 'ready' });
  for (const name of names) {
    const before = new Map(names.map((one) => [one, pidOf(one)]));
    process.kill(pidOf(name), 'SIGKILL');
    await expect.poll(() => [phases()[name], pidOf(name) === before.get(name)], patiently).toEqual(['ready', false]);
    for (const other of names) if (other !== name) expect(pidOf(other)).toBe(before.get(other));
  }
});

test('ends foreign programs when the supervisor is killed', async () => {
  const source = `
    import { superviseAll } from ${JSON.stringify(`${import.meta.dirname}/table.ts`)};
    import { ProcessStates } from ${JSON.stringify(`${import.meta.dirname}/states.ts`)};
    const states = new ProcessStates(([{ current }]) => current.phase === 'ready' && console.log(current.pid));
    void superviseAll([{ name: 'it', command: { type: 'foreign', program: 'sleep', args: ['600'] } }], {
      program: '', states, write() {}, writeChild: () => () => {}, onReady() {}, signal: new AbortController().signal, grace: 1000 });`;
  const supervisor = spawn(process.execPath, [program(source)], { stdio: ['ignore', 'pipe', 'inherit'] });
  cleanup.unshift(() => void supervisor.kill('SIGKILL'));
  const pid = await new Promise<number>((resolve) => supervisor.stdout.once('data', (text: Buffer) => resolve(Number(text.toString()))));
  expect(isAlive(pid)).toBe(true);
  supervisor.kill('SIGKILL');
  await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
});

test.each([
  [[{ name: 'a', command: sleeping, needs: ['b'] }], 'process "a" needs b, which must come before it in the table'],
  [
    [
      { name: 'a', command: sleeping },
      { name: 'a', command: sleeping },
    ],
    'there are two processes "a" in the table; names must differ',
  ],
])('rejects a table that cannot work', async (table, message) => {
  await expect(start(table).code).rejects.toThrow(message);
});

/** An orphan that has ended may stay a zombie in containers whose first process reaps nobody. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
