import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import type { Command, ProcessDescription } from './description.ts';
import { ProcessStates } from './states.ts';
import { type SupervisorOptions, supervise } from './supervisor.ts';
import { Scripts } from './testing/scripts.ts';

/** The machine may be busy. */
const patiently = { timeout: 15_000 };

const cleanup: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanup.splice(0)) await clean();
  vi.unstubAllEnvs();
});

interface Supervised {
  readonly states: ProcessStates;
  readonly lines: string[];
  readonly said: string[];
  readonly code: Promise<number>;
  readonly stop: AbortController;
}

function start(description: Omit<ProcessDescription, 'name'>, { program = '' }: Partial<SupervisorOptions> = {}): Supervised {
  const stop = new AbortController();
  const states = new ProcessStates(() => {});
  states.add({ name: 'it', optional: description.optional ?? false });
  const lines: string[] = [];
  const said: string[] = [];
  const code = supervise(
    { name: 'it', ...description },
    {
      program,
      states,
      write: (line) => lines.push(line),
      writeChild: (line) => said.push(line),
      onReady: () => {},
      signal: stop.signal,
      grace: 5_000,
      backoff: { base: 5, max: 20 },
    },
  );
  cleanup.unshift(async () => {
    stop.abort();
    await code;
  });
  return { states, lines, said, code, stop };
}

function scripts(): Scripts {
  const made = new Scripts();
  cleanup.push(() => made[Symbol.dispose]());
  return made;
}

const own: Command = { type: 'own', args: [] };
const foreign = (source: string, more: object = {}): Command => ({
  type: 'foreign',
  program: process.execPath,
  args: ['--eval', source],
  ...more,
});
const current = ({ states }: Supervised) => states.list[0]!;

test('limits a process to two malloc arenas', async () => {
  vi.stubEnv('MALLOC_ARENA_MAX', undefined);
  const { said } = start({ command: own }, { program: scripts().program('it', 'console.log(process.env.MALLOC_ARENA_MAX)') });
  await expect.poll(() => said, patiently).toEqual(['2']);
});

test('lets the environment override the limit', async () => {
  vi.stubEnv('MALLOC_ARENA_MAX', '7');
  const { said } = start({ command: own }, { program: scripts().program('it', 'console.log(process.env.MALLOC_ARENA_MAX)') });
  await expect.poll(() => said, patiently).toEqual(['7']);
});

test('learns the ports of a process from its ready message', async () => {
  const ports = [{ name: 'https', host: '127.0.0.1', port: 4711 }];
  const message = {
    type: 'ready',
    url: 'https://127.0.0.1:4711',
    kubeconfigPath: '',
    ports,
    health: { url: 'https://127.0.0.1:4711/readyz' },
  };
  const it = start({ command: own }, { program: scripts().program('it', `process.send(${JSON.stringify(message)})`) });
  await expect.poll(() => current(it).current, patiently).toMatchObject({ phase: 'ready', ports, pid: expect.any(Number) });
});

test('takes a foreign program for ready when its port accepts connections', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  await new Promise((resolve) => taken.close(resolve));
  const source = `import { createServer } from 'node:net'; createServer().listen(${port}, '127.0.0.1')`;
  const program = scripts().program('server', source);
  const ports = [{ name: 'clients', host: '127.0.0.1', port }];
  const it = start({ command: { type: 'foreign', program: process.execPath, args: [program], ports } });
  expect(current(it).current.phase).toBe('starting');
  await expect.poll(() => current(it).current, patiently).toMatchObject({ phase: 'ready', ports });
});

test('restarts a process that ends, and remembers its last line of errors', async () => {
  const it = start({ command: foreign("console.error('no luck'); process.exit(1)") });
  await expect.poll(() => current(it).restarts, patiently).toBeGreaterThan(2);
  expect(current(it).lastError).toMatchObject({ message: 'exit code 1: no luck' });
  expect(it.lines[0]).toBe('it ended (exit code 1), restarting it in 5 ms');
});

test('gives up on a required process that cannot start until the user changes something', async () => {
  expect(await start({ command: own }, { program: scripts().program('it', 'process.exit(2)') }).code).toBe(2);
});

test('gives up on a required program that does not exist', async () => {
  const it = start({ command: { type: 'foreign', program: '/nowhere/program', args: [] } });
  expect(await it.code).toBe(1);
  expect(it.lines).toEqual(['it cannot start: spawn /nowhere/program ENOENT']);
});

test.each([
  ['that does not exist', { type: 'foreign', program: '/nowhere/program', args: [] } as const, 'spawn /nowhere/program ENOENT'],
  ['that ends at once', foreign('process.exit(2)'), 'exit code 2'],
])('keeps trying an optional program %s', async (_, command, message) => {
  const it = start({ command, optional: true });
  await expect.poll(() => current(it).restarts, patiently).toBeGreaterThan(2);
  expect(current(it).lastError?.message).toBe(message);
  it.stop.abort();
  expect(await it.code).toBe(0);
});

test('ends a process that ignores SIGTERM', async () => {
  const states = new ProcessStates(() => {});
  states.add({ name: 'it', optional: false });
  const stop = new AbortController();
  const said: string[] = [];
  const code = supervise(
    { name: 'it', command: foreign("process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up')") },
    { program: '', states, write: () => {}, writeChild: (line) => said.push(line), onReady: () => {}, signal: stop.signal, grace: 50 },
  );
  await expect.poll(() => said, patiently).toEqual(['up']);
  stop.abort();
  expect(await code).toBe(0);
});
