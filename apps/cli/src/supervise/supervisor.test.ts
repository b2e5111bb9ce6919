import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { supervise } from './supervisor.ts';

const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanup.splice(0)) await clean();
  vi.unstubAllEnvs();
});

/** The first line that a supervised program with this source writes. */
async function firstLineOf(source: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'capstan-supervise-'));
  cleanup.push(() => rm(directory, { recursive: true, force: true }));
  const program = join(directory, 'program.mjs');
  await writeFile(program, `${source}; setInterval(() => {}, 1000); process.on('SIGTERM', () => process.exit());`);
  const stop = new AbortController();
  const { promise, resolve } = Promise.withResolvers<string>();
  const ended = supervise(
    { name: 'it', args: [] },
    { program, write: () => {}, writeChild: resolve, onReady: () => {}, signal: stop.signal, grace: 5_000 },
  );
  cleanup.push(() => ended.then(() => {}));
  try {
    return await promise;
  } finally {
    stop.abort();
  }
}

test('limits a process to two malloc arenas', async () => {
  vi.stubEnv('MALLOC_ARENA_MAX', undefined);
  expect(await firstLineOf('console.log(process.env.MALLOC_ARENA_MAX)')).toBe('2');
});

test('lets the environment override the limit', async () => {
  vi.stubEnv('MALLOC_ARENA_MAX', '7');
  expect(await firstLineOf('console.log(process.env.MALLOC_ARENA_MAX)')).toBe('7');
});
