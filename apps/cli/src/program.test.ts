import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';

const main = new URL('./main.ts', import.meta.url).pathname;

/** Runs a command while nobody reads one of its streams, and resolves with its exit code and the other stream. */
async function unread(stream: 'stdout' | 'stderr', args: readonly string[]): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, ['--no-warnings', main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, KUBECONFIG: '/nowhere/kubeconfig' },
    timeout: 30_000,
  });
  child[stream].destroy();
  const [said, [code]] = await Promise.all([text(child[stream === 'stdout' ? 'stderr' : 'stdout']), once(child, 'exit')]);
  return { code: code as number | null, said };
}

test('a reader of the output that has seen enough leads to no error', async () => {
  expect(await unread('stdout', ['--help'])).toEqual({ code: 0, said: '' });
});

test('a reader of messages that has gone changes no exit code', async () => {
  expect(await unread('stderr', ['node', 'show', 'x'])).toEqual({ code: 2, said: '' });
});
