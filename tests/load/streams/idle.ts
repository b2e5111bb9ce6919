import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { residentMegabytes } from '../measure/memory.ts';
import { processorSeconds } from '../measure/processor.ts';
import type { Measurement, Subject } from '../profiles/profile.ts';
import type { IdleOrder } from './idle-client.ts';

/** Processes that hold the clients' ends: one alone may not open enough files, and would be busier than the server. */
const processes = 4;
/** The streams are opened in so many parts, to see whether the last ones cost more than the first ones. */
const parts = 5;
const enoughFiles = 65_536;
/** How long the server is left alone before its memory is read, in milliseconds. It collects garbage after half a minute without work. */
const rest = 45_000;

/** Opens streams in which nothing happens, and closes them again. The paths take turns. */
export async function measureIdle(
  { address, pids }: Subject,
  { paths, count, name }: { paths: readonly string[]; count: number; name: string },
): Promise<Measurement[]> {
  raiseFileLimit([process.pid, ...pids]);
  const clients = Array.from({ length: processes }, () =>
    fork(new URL('./idle-client.ts', import.meta.url), { serialization: 'advanced' }),
  );
  try {
    // The first streams of a server let it compile what it needs for all of them.
    await openAll(clients, { address, path: paths[0]!, count: 10 });
    await sleep(rest);
    const before = residentMegabytes(pids) ?? Number.NaN;
    const costs: number[] = [];
    const began = performance.now();
    for (let part = 0; part < parts; part++) {
      const used = processorSeconds(pids);
      for (const path of paths) await openAll(clients, { address, path, count: Math.ceil(count / parts / paths.length / processes) });
      costs.push(((processorSeconds(pids) - used) / (count / parts)) * 1000);
    }
    const seconds = (performance.now() - began) / 1000;
    await sleep(rest);
    const memory = residentMegabytes(pids) ?? Number.NaN;
    return [
      { what: `${name}: opened`, value: count / seconds, unit: 'per second', better: 'higher' },
      { what: `${name}: the server's processor time to open one of the first fifth`, value: costs[0]!, unit: 'ms', better: 'lower' },
      { what: `${name}: the same, of the last fifth`, value: costs.at(-1)!, unit: 'ms', better: 'lower' },
      { what: `${name}: memory with ${count} of them`, value: memory, unit: 'MB', better: 'lower' },
      { what: `${name}: of that for each`, value: ((memory - before) * 1024) / count, unit: 'KiB', better: 'lower' },
    ];
  } finally {
    for (const client of clients) if (client.connected) client.disconnect();
  }
}

async function openAll(clients: readonly ChildProcess[], order: IdleOrder): Promise<void> {
  await Promise.all(
    clients.map(async (client) => {
      client.send(order);
      const exited = once(client, 'exit').then(() => [{ error: 'a process of clients has ended' }]);
      const [answer] = (await Promise.race([once(client, 'message'), exited])) as [{ opened: number } | { error: string }];
      if ('error' in answer) throw new Error(`a stream could not be opened: ${answer.error}`);
    }),
  );
}

/** Only root may. Without it, the system's limit has to do. */
function raiseFileLimit(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      execFileSync('prlimit', ['--pid', String(pid), `--nofile=${enoughFiles}:${enoughFiles}`], { stdio: 'ignore' });
    } catch {
      process.stderr.write(`the limit of open files of process ${pid} could not be raised\n`);
    }
  }
}
