import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { buildCapstan, Child, capstanProgram, freePort, run, temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { evaluateIn } from './inspector.ts';

await buildCapstan();

/** A process that has ended keeps its entry until somebody reaps it. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function isFree(port: number): Promise<boolean> {
  await using server = createServer();
  return once(server.listen(port, '127.0.0.1'), 'listening').then(
    () => true,
    () => false,
  );
}

test('a child whose event loop hangs ends with its supervisor when that is killed, as do all others, and frees the port', async () => {
  using directory = temporaryDirectory('hung');
  const port = await freePort();
  const data = directory.join('data');
  const status = () => run(process.execPath, [capstanProgram, 'status', '--data-dir', data, '--output', 'json'], { timeout: 30_000 });
  await using up = new Child('capstan up', [process.execPath, capstanProgram, 'up', '--data-dir', data, '--port', String(port)], {
    environment: { NODE_OPTIONS: '--inspect-port=0' },
  });
  const isRunning = () => ['| controllers run against', '| platform controllers run against'].every((line) => up.output.includes(line));
  await up.waitUntil('controllers', isRunning);
  const { processes } = JSON.parse((await status()).stdout) as { processes: { name: string; pid: number }[] };
  const server = processes.find(({ name }) => name === 'apiserver')!.pid;
  await evaluateIn(server, () => up.output, 'setImmediate(() => { for (;;); })');
  expect(processes.filter(({ pid }) => !isAlive(pid))).toEqual([]);
  await up.kill();
  // It left its state behind.
  expect((await status()).code).toBe(12);
  await expect.poll(() => processes.filter(({ pid }) => isAlive(pid)), { timeout: 30_000 }).toEqual([]);
  // A process whose first thread has ended keeps its sockets until the others have.
  await expect.poll(() => isFree(port), { timeout: 30_000 }).toBe(true);
});
