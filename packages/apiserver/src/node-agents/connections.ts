import type { TLSSocket } from 'node:tls';
import type { AgentCertificate, NodeIdentities } from './identities.ts';

export interface AgentConnectionsOptions {
  readonly identities: NodeIdentities;
  readonly now: () => number;
  /** How often all connections are checked, in milliseconds. Changes of nodes are noticed at once; this is for expiry, and for a cache that missed events. */
  readonly interval?: number;
}

/** The open connections of node agents. They end when the agent is no longer accepted, with every watch and tunnel on them. */
export class AgentConnections implements Disposable {
  readonly #options: AgentConnectionsOptions;
  readonly #open = new Map<string, Map<TLSSocket, AgentCertificate>>();
  readonly #timer: NodeJS.Timeout;
  /** The state of the nodes that all connections were last compared with. */
  #compared = -1;
  /** The first time at which a certificate expires, in milliseconds, or an earlier one. */
  #nextExpiry = Number.POSITIVE_INFINITY;

  constructor(options: AgentConnectionsOptions) {
    this.#options = options;
    options.identities.onChange((nodes) => {
      for (const node of nodes) this.#check(node);
    });
    this.#timer = setInterval(() => this.#checkAll(), options.interval ?? 1_000).unref();
  }

  get count(): number {
    let total = 0;
    for (const sockets of this.#open.values()) total += sockets.size;
    return total;
  }

  add(agent: AgentCertificate, socket: TLSSocket): void {
    let sockets = this.#open.get(agent.node);
    if (sockets === undefined) this.#open.set(agent.node, (sockets = new Map()));
    if (sockets.has(socket) || socket.destroyed) return;
    sockets.set(socket, agent);
    this.#nextExpiry = Math.min(this.#nextExpiry, agent.notAfter);
    socket.once('close', () => this.#remove(agent.node, socket));
  }

  /** Ends the connections whose certificates, in DER, are no longer accepted. */
  keepOnly(isAccepted: (raw: Buffer) => boolean): void {
    for (const sockets of this.#open.values())
      for (const socket of sockets.keys()) if (!isAccepted(socket.getPeerCertificate().raw)) socket.destroy();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #remove(node: string, socket: TLSSocket): void {
    const sockets = this.#open.get(node);
    sockets?.delete(socket);
    if (sockets?.size === 0) this.#open.delete(node);
  }

  /** There is nothing to do as long as no node changes and no certificate expires: idle agents have thousands of connections. */
  #checkAll(): void {
    const { identities, now } = this.#options;
    const { generation } = identities;
    if (generation === this.#compared && now() <= this.#nextExpiry) return;
    this.#compared = generation;
    this.#nextExpiry = Number.POSITIVE_INFINITY;
    for (const node of this.#open.keys()) this.#check(node);
  }

  #check(node: string): void {
    const { identities, now } = this.#options;
    const time = now();
    for (const [socket, agent] of this.#open.get(node) ?? []) {
      if (agent.notAfter < time || identities.problem(agent) !== undefined) socket.destroy();
      else this.#nextExpiry = Math.min(this.#nextExpiry, agent.notAfter);
    }
  }
}
