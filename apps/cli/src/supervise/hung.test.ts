import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { Silence } from './silence.ts';
import { ProcessStates } from './states.ts';
import { supervise } from './supervisor.ts';
import { Scripts } from './testing/scripts.ts';

const patiently = { timeout: 15_000 };
const scripts = new Scripts();
const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanup.splice(0)) await clean();
});

const ready = `process.send({ type: 'ready', url: '', kubeconfigPath: '', ports: [] })`;
const limits = { interval: 10, silence: 50, work: 20, longest: 60_000 };

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('a process that hangs', () => {
  test.each(['own', 'foreign'] as const)('ends with its supervisor (%s)', async (type) => {
    const program = scripts.program(`hangs-${type}`, 'console.log(process.pid); setTimeout(() => { for (;;); }, 50)');
    const command = type === 'own' ? { type, args: [] } : { type, program: process.execPath, args: [program] };
    const supervisor = scripts.program(
      `supervisor-${type}`,
      `import { runChild } from ${JSON.stringify(`${import.meta.dirname}/child.ts`)};
       void runChild(${JSON.stringify(command)}, {
         program: ${JSON.stringify(program)}, grace: 100, signal: new AbortController().signal,
         writeChild: console.log, onStarted: () => {}, onReady: () => {},
       })`,
    );
    const up = spawn(process.execPath, [supervisor], { stdio: ['ignore', 'pipe', 'inherit'] });
    cleanup.push(() => up.kill('SIGKILL'));
    const [line] = (await once(up.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    cleanup.push(() => isRunning(pid) && process.kill(pid, 'SIGKILL'));
    await sleep(100);
    up.kill('SIGKILL');
    await expect.poll(() => isRunning(pid), patiently).toBe(false);
  });

  test('is killed and started again, and the status says why', async () => {
    const states = new ProcessStates(() => {});
    states.add({ name: 'it', optional: false });
    const stop = new AbortController();
    const lines: string[] = [];
    const killed: number[] = [];
    const code = supervise(
      { name: 'it', command: { type: 'own', args: [] } },
      {
        program: scripts.program('hangs-when-ready', `${ready}; setTimeout(() => { for (;;); }, 50)`),
        states,
        write: (line) => lines.push(line),
        writeChild: () => {},
        onReady: () => {},
        signal: stop.signal,
        grace: 50,
        backoff: { base: 5, max: 20 },
        silence: limits,
        beforeKill: (pid) => {
          killed.push(pid);
          return 'it evaluated policy "slow"';
        },
      },
    );
    cleanup.push(() => {
      stop.abort();
      return code;
    });
    await expect.poll(() => states.list[0]!.restarts, patiently).toBeGreaterThan(0);
    expect(states.list[0]!.lastError?.message).toMatch(/^it did not answer for \d+ s, and was killed: it evaluated policy "slow"$/);
    expect(lines[0]).toMatch(/^it ended \(it did not answer for \d+ s, and was killed: it evaluated policy "slow"\), restarting it/);
    expect(killed).toHaveLength(states.list[0]!.restarts);
  });

  test('is left alone while it answers, however busy it is', async () => {
    const states = new ProcessStates(() => {});
    states.add({ name: 'it', optional: false });
    const stop = new AbortController();
    const said: string[] = [];
    const source = `import { answerSupervisor } from ${JSON.stringify(`${import.meta.dirname}/liveness.ts`)};
      answerSupervisor(); ${ready}; let times = 0;
      setInterval(() => { const until = Date.now() + 20; while (Date.now() < until); if (++times === 25) console.log('done'); }, 1)`;
    const code = supervise(
      { name: 'it', command: { type: 'own', args: [] } },
      {
        program: scripts.program('busy', source),
        states,
        write: () => {},
        writeChild: (line) => said.push(line),
        onReady: () => {},
        signal: stop.signal,
        grace: 50,
        silence: { ...limits, silence: 200, work: 150 },
      },
    );
    cleanup.push(() => {
      stop.abort();
      return code;
    });
    await expect.poll(() => said, patiently).toEqual(['done']);
    expect(states.list[0]!.restarts).toBe(0);
  });
});

describe('silence', () => {
  const look = (elapsed: number, processor: number, more: { isStopped?: boolean; hasAnswered?: boolean } = {}) => ({
    elapsed,
    hasAnswered: false,
    usage: { processor, isStopped: false, ...more },
    ...more,
  });
  const fresh = () => {
    const silence = new Silence({ interval: 2_000, silence: 6_000, work: 3_000, longest: 20_000 });
    silence.look(look(0, 0, { hasAnswered: true }));
    return silence;
  };

  test('is a hang once the process has worked that long', () => {
    const silence = fresh();
    expect([2, 4, 6].map((second) => silence.look(look(2_000, second * 1_000)))).toEqual([undefined, undefined, 6_000]);
  });

  test('is none while the machine is too busy to let the process run', () => {
    const silence = fresh();
    expect([1, 2, 3, 4, 5].map((round) => silence.look(look(2_000, round * 100)))).toEqual(Array(5).fill(undefined));
  });

  test('is a hang in the end even without work, as in a call that never returns', () => {
    const silence = fresh();
    expect(Array.from({ length: 10 }, () => silence.look(look(2_000, 0))).at(-1)).toBe(20_000);
  });

  test('does not count the time for which the machine, or the supervisor, was suspended', () => {
    const silence = fresh();
    expect(silence.look(look(3_600_000, 60_000))).toBeUndefined();
  });

  test('does not count while somebody has suspended the process', () => {
    const silence = fresh();
    for (let round = 0; round < 100; round++) expect(silence.look(look(2_000, 9_000, { isStopped: true }))).toBeUndefined();
  });
});
