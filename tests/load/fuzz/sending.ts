import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { type Felt, feel, preferThisThread } from '../hostile/victim.ts';
import type { HostileWorld } from '../hostile/world.ts';
import type { Findings } from './findings.ts';
import type { SenderReport, SenderTask } from './sender.ts';

/** Sends requests from a thread of its own until something is over, and says what the victim felt meanwhile; undefined if it lost its connection. */
export async function feelBeside(
  address: Pick<HostileWorld, 'address' | 'victim'>,
  over: Promise<unknown>,
  { task, findings }: { readonly task: SenderTask; readonly findings: Findings },
): Promise<Felt | undefined> {
  const worker = new Worker(new URL('./sender.ts', import.meta.url), { workerData: task });
  worker.on('message', (report: SenderReport) => findings.add(report));
  preferThisThread();
  const felt = await feel(address, over, (waited) => findings.waited(waited)).catch((error: Error) =>
    findings.note(`the victim lost its connection: ${error.message}`),
  );
  await over;
  worker.postMessage('stop');
  await Promise.race([once(worker, 'exit'), sleep(10_000)]);
  await worker.terminate();
  return felt;
}
