/** The thread that sends the requests. It reports counts, answers of the server that say that it failed, and slow requests. */

import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { JsonObject } from '@capstan/machinery';
import { dial, exchange, type Sender, textOf } from '../hostile/means.ts';
import type { World } from '../hostile/world.ts';
import { AgentRequests } from './agent-requests.ts';
import { ConsoleRequests } from './console-requests.ts';
import { ProductRequests } from './product-requests.ts';
import { Random } from './random.ts';
import type { RequestSource } from './request-source.ts';
import { type FuzzedRequest, Requests } from './requests.ts';
import { RestRequests } from './rest-requests.ts';

/** What clients send requests to. The attacker of the world sends them. */
export type Surface =
  /** Resources, each as `group/resource`. */
  | { readonly kind: 'api'; readonly served: readonly string[] }
  | { readonly kind: 'products' }
  | { readonly kind: 'rest'; readonly document: JsonObject }
  | { readonly kind: 'console'; readonly document: JsonObject; readonly port: number; readonly cookie: string }
  | { readonly kind: 'agent' };

export interface Target {
  readonly world: World;
  readonly surface: Surface;
}

export interface SenderTask {
  readonly targets: readonly Target[];
  readonly seed: number;
  readonly clientsPerTarget: number;
  /** In requests per second, of each client. */
  readonly rate: number;
}

export type SenderReport =
  | { readonly kind: 'counts'; readonly counts: Readonly<Record<string, number>> }
  | { readonly kind: 'failed'; readonly label: string; readonly status: number; readonly answer: string; readonly request: string }
  | { readonly kind: 'slow'; readonly label: string; readonly began: number; readonly ended: number; readonly request: string };

/** In milliseconds. */
const slow = 300;
/** A watch or stream that goes on is left after this long. */
const patience = 3_000;

const { targets, seed, clientsPerTarget, rate } = workerData as SenderTask;
const stop = new AbortController();
parentPort!.once('message', () => stop.abort());
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

let counts: Record<string, number> = {};
const report = (message: SenderReport): void => parentPort!.postMessage(message);
const flushing = setInterval(() => {
  report({ kind: 'counts', counts });
  counts = {};
}, 1_000);

function sourceOf(random: Random, { world, surface }: Target): RequestSource {
  const { cluster } = world.attacker;
  switch (surface.kind) {
    case 'api':
      return new Requests(random, { cluster, served: surface.served });
    case 'products':
      return new ProductRequests(random, cluster);
    case 'rest':
      return new RestRequests(random, { cluster, document: surface.document });
    case 'console': {
      const relayed = {
        kube: new ProductRequests(random, cluster),
        rest: new RestRequests(random, { cluster, document: surface.document }),
      };
      return new ConsoleRequests(random, { ...surface, ...relayed });
    }
    case 'agent':
      return new AgentRequests(random, world.agent.node);
  }
}

/** How a client connects, and as whom it sends. */
function meansOf(random: Random, { world, surface }: Target): { readonly through: World; readonly dialled: Sender; readonly as: Sender } {
  switch (surface.kind) {
    case 'rest':
      return { through: world, dialled: 'rest', as: 'rest' };
    case 'console':
      return { through: { ...world, restPort: surface.port }, dialled: 'rest', as: 'nobody' };
    case 'agent':
      return { through: world, dialled: 'agent', as: 'agent' };
    default:
      return { through: world, dialled: random.chance(0.03) ? 'agent' : 'tenant', as: 'tenant' };
  }
}

async function client(target: Target, number: number): Promise<void> {
  const random = new Random(seed + number);
  const requests = sourceOf(random, target);
  while (!stop.signal.aborted) {
    const { through, dialled, as } = meansOf(random, target);
    const socket = await dial(through, stop.signal, dialled);
    if (socket === undefined) {
      await sleep(50);
      continue;
    }
    while (!stop.signal.aborted && !socket.destroyed) {
      const request = requests.next();
      await send(socket, request, textOf(through, request, as));
      await sleep(1_000 / rate);
    }
    socket.destroy();
  }
}

async function send(socket: NonNullable<Awaited<ReturnType<typeof dial>>>, request: FuzzedRequest, text: string): Promise<void> {
  const began = Date.now();
  const giveUp = setTimeout(() => socket.destroy(), patience);
  let answer = '';
  const status = await exchange(socket, text, (part) => {
    if (answer.length < 1_000) answer += part;
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
      request: shortOf(request),
    });
  if (Date.now() - began > slow) report({ kind: 'slow', label, began, ended: Date.now(), request: shortOf(request) });
}

/** Without what is repeated. */
function shortOf({ method, path, body = '' }: FuzzedRequest): string {
  return `${method} ${path} ${body}`.replace(/(.{1,3}?)\1{20,}/gs, '$1…').slice(0, 2_000);
}

await Promise.all(
  targets.flatMap((target, at) => Array.from({ length: clientsPerTarget }, (_, index) => client(target, at * 1_000 + index))),
);
clearInterval(flushing);
report({ kind: 'counts', counts });
