import type { Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import { superuserGroup, type User } from '@capstan/api';
import { status } from '@capstan/machinery';
import type { Sockets } from '../http/sockets.ts';
import { allowedInLine } from '../limits/scarce.ts';
import type { OpenStream } from './open-streams.ts';

/** The part of all connections to nodes that one tenant may have. */
const largestShare = 0.5;

/** Connections that streams open to kubelets, pods and services. Each is an open file of the process, beside the connection of its client. */
export class Dialled {
  readonly #sockets: Sockets;
  readonly #counts = new Map<string, number>();

  constructor(sockets: Sockets) {
    this.#sockets = sockets;
  }

  get sockets(): Sockets {
    return this.#sockets;
  }

  /** Counts a connection until its stream is over, or throws TooManyRequests. */
  open({ exchange, signal }: OpenStream, user: User): void {
    const sockets = this.#sockets;
    const tenant = exchange.client?.tenant ?? '';
    if (sockets.toNodes >= sockets.mostToNodes) sockets.refresh();
    this.#check(tenant, user);
    if (signal.aborted) return;
    sockets.toNodes++;
    this.#counts.set(tenant, (this.#counts.get(tenant) ?? 0) + 1);
    signal.addEventListener('abort', () => this.#close(tenant), { once: true });
  }

  #check(tenant: string, { groups }: User): void {
    const { toNodes, mostToNodes, makeRoom } = this.#sockets;
    if (toNodes >= mostToNodes)
      throw status.tooManyRequests(
        `the server has ${toNodes} connections to nodes open, and its limit of open files allows no more; try again later, or raise that limit`,
        1,
      );
    const own = this.#counts.get(tenant) ?? 0;
    const allowed = allowedInLine({ taken: toNodes, all: mostToNodes, most: Math.ceil(mostToNodes * largestShare) });
    if (own >= allowed && !groups.includes(superuserGroup))
      throw status.tooManyRequests(
        `you have ${own} connections to nodes open, and ${allowed} is your share of what the server's limit of open files allows; close some of them`,
        1,
      );
    if (!makeRoom())
      throw status.tooManyRequests('the server has as many connections open as its limit of open files allows; try again later', 1);
  }

  #close(tenant: string): void {
    this.#sockets.toNodes--;
    const left = this.#counts.get(tenant)! - 1;
    if (left === 0) this.#counts.delete(tenant);
    else this.#counts.set(tenant, left);
  }
}

/** Lets an agent keep few connections that nobody uses: each is an open file. Node limits them for each host only. */
export function keepFewIdle<Kind extends Agent>(agent: Kind, { mostIdle }: Pick<Sockets, 'mostIdle'>): Kind {
  const keep: (socket: Duplex) => unknown = agent.keepSocketAlive.bind(agent);
  agent.keepSocketAlive = (socket) => idleOf(agent) < mostIdle && keep(socket) === true;
  return agent;
}

function idleOf({ freeSockets }: Agent): number {
  let count = 0;
  for (const sockets of Object.values(freeSockets)) count += sockets?.length ?? 0;
  return count;
}
