import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Connection } from '@capstan/testbed';

export interface GetTimes {
  readonly p50: number;
  readonly p99: number;
}

/** How long gets of an object take, in milliseconds. They are sent by a thread of their own: this one is busy with the other ends of the streams. */
export async function timeGets(address: Connection, path: string, count = 40_000): Promise<GetTimes> {
  const worker = new Worker(new URL('./gets-worker.ts', import.meta.url), { workerData: { address, path, count } });
  const [times] = (await once(worker, 'message')) as [GetTimes];
  await worker.terminate();
  return times;
}
