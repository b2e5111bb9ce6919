/** The thread that sends the requests. It reports counts, answers of the server that say that it failed, and slow requests. */

import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { dial, exchange, textOf } from '../hostile/means.ts';
import type { Tenant, World } from '../hostile/world.ts';
import { Random } from './random.ts';
import { type FuzzedRequest, Requests } from './requests.ts';

/** A tenant that sends requests for these resources, each as `group/resource`. */
export interface FuzzingTenant extends Tenant {
  readonly served: readonly string[];
}

export interface SenderTask {
  readonly world: World;
  readonly tenants: readonly FuzzingTenant[];
  readonly seed: number;
  readonly clientsPerTenant: number;
  /** In requests per second, of each client. */
  readonly rate: number;
}

export type SenderReport =
  | { readonly kind: 'counts'; readonly counts: Readonly<Record<string, number>> }
  | { readonly kind: 'failed'; readonly label: string; readonly status: number; readonly answer: string; readonly request: string }
  | { readonly kind: 'slow'; readonly label: string; readonly began: number; readonly ended: number };

/** In milliseconds. */
const slow = 300;
/** A watch or stream that goes on is left after this long. */
const patience = 3_000;

const { world, tenants, seed, clientsPerTenant, rate } = workerData as SenderTask;
const stop = new AbortController();
parentPort!.once('message', () => stop.abort());
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

let counts: Record<string, number> = {};
const report = (message: SenderReport): void => parentPort!.postMessage(message);
const flushing = setInterval(() => {
  report({ kind: 'counts', counts });
  counts = {};
}, 1_000);

async function client(tenant: FuzzingTenant, number: number): Promise<void> {
  const random = new Random(seed + number);
  const requests = new Requests(random, tenant);
  const own = { ...world, attacker: tenant };
  while (!stop.signal.aborted) {
    const socket = await dial(own, stop.signal, random.chance(0.03) ? 'agent' : 'tenant');
    if (socket === undefined) {
      await sleep(50);
      continue;
    }
    while (!stop.signal.aborted && !socket.destroyed) {
      const request = requests.next();
      await send(socket, request, own);
      await sleep(1_000 / rate);
    }
    socket.destroy();
  }
}

async function send(socket: NonNullable<Awaited<ReturnType<typeof dial>>>, request: FuzzedRequest, own: World): Promise<void> {
  const began = Date.now();
  const giveUp = setTimeout(() => socket.destroy(), patience);
  let answer = '';
  const status = await exchange(socket, textOf(own, request), (text) => {
    if (answer.length < 1_000) answer += text;
  });
  clearTimeout(giveUp);
  const key = `${request.label.split(' ')[0]} ${status ?? 'closed'}`;
  counts[key] = (counts[key] ?? 0) + 1;
  const { label } = request;
  if (status !== undefined && status >= 500)
    report({
      kind: 'failed',
      label,
      status,
      answer: answer.slice(0, 1_000),
      request: `${request.method} ${request.path} ${request.body ?? ''}`.slice(0, 2_000),
    });
  if (Date.now() - began > slow) report({ kind: 'slow', label, began, ended: Date.now() });
}

await Promise.all(
  tenants.flatMap((tenant, at) => Array.from({ length: clientsPerTenant }, (_, index) => client(tenant, at * 1_000 + index))),
);
clearInterval(flushing);
report({ kind: 'counts', counts });
