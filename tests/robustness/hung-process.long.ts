import { buildCapstan, Child, capstanProgram, freePort, run, temporaryDirectory } from '@capstan/testbed';
import { afterAll, beforeAll, expect, test } from 'vitest';

await buildCapstan();

interface Reported {
  readonly name: string;
  readonly pid: number;
}

const directory = temporaryDirectory('hung');
const data = directory.join('data');
let up: Child;
let processes: readonly Reported[] = [];

function isRunning({ pid }: Reported): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

beforeAll(async () => {
  up = new Child('capstan up', [process.execPath, capstanProgram, 'up', '--data-dir', data, '--port', String(await freePort())]);
  await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
  const { stdout } = await run(process.execPath, [capstanProgram, 'status', '--data-dir', data, '--output', 'json'], { timeout: 30_000 });
  ({ processes } = JSON.parse(stdout) as { processes: Reported[] });
});
afterAll(async () => {
  for (const one of processes) if (isRunning(one)) process.kill(one.pid, 'SIGKILL');
  await up.stop();
  directory[Symbol.dispose]();
});

/** A process that is suspended can notice nothing, just as one whose event loop hangs. */
test('processes that hang end with a supervisor that is killed, and leave the port and the data directory', async () => {
  expect(processes.length).toBeGreaterThan(1);
  for (const { pid } of processes) process.kill(pid, 'SIGSTOP');
  process.kill(up.pid, 'SIGKILL');
  await expect.poll(() => processes.filter(isRunning), { timeout: 60_000 }).toEqual([]);
});
