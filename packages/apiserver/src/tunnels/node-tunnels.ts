import type { Duplex } from 'node:stream';
import { type NodeConnection, openTunnel, type Tunnel, type TunnelLimits } from '@capstan/streams';

/** Finds a node whose tunnel is elsewhere. */
export interface Elsewhere extends AsyncDisposable {
  find(node: string): Promise<NodeConnection | undefined>;
}

interface Held {
  current: Tunnel;
  /** The one before it, until its streams have ended. */
  former: Tunnel | undefined;
}

/** The tunnels of nodes to this server. */
export class NodeTunnels implements AsyncDisposable {
  readonly #held = new Map<string, Held>();
  readonly #limits: Partial<TunnelLimits>;
  readonly #elsewhere: Elsewhere | undefined;
  #isClosed = false;

  constructor({ limits = {}, elsewhere }: { readonly limits?: Partial<TunnelLimits>; readonly elsewhere?: Elsewhere | undefined } = {}) {
    this.#limits = limits;
    this.#elsewhere = elsewhere;
  }

  get count(): number {
    return this.#held.size;
  }

  get openStreams(): number {
    let total = 0;
    for (const { current, former } of this.#held.values()) total += current.openStreams + (former?.openStreams ?? 0);
    return total;
  }

  /** Begins a tunnel on a connection of a node's agent. The streams of an earlier one may go on, but only of one. */
  async accept(node: string, socket: Duplex): Promise<Tunnel> {
    const tunnel = await openTunnel(socket, this.#limits);
    if (this.#isClosed) {
      tunnel.destroy();
      return tunnel;
    }
    const before = this.#held.get(node);
    before?.former?.destroy();
    before?.current.drain();
    const held: Held = { current: tunnel, former: before?.current };
    this.#held.set(node, held);
    void before?.current.closed.then(() => (held.former = undefined));
    void tunnel.closed.then(() => {
      if (this.#held.get(node)?.current === tunnel) this.#held.delete(node);
    });
    return tunnel;
  }

  /** The tunnel of a node to this server; undefined if there is none. */
  here(node: string): NodeConnection | undefined {
    const tunnel = this.#held.get(node)?.current;
    return tunnel?.isOpen === true ? tunnel : undefined;
  }

  /** A connection to a node, through this server or another. */
  to(node: string): NodeConnection | undefined | Promise<NodeConnection | undefined> {
    return this.here(node) ?? this.#elsewhere?.find(node);
  }

  /** Tells all agents to turn to other servers. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#held.values()].flatMap(({ current, former }) => [current, former]);
    await Promise.all([...all.map((tunnel) => tunnel?.[Symbol.asyncDispose]()), this.#elsewhere?.[Symbol.asyncDispose]()]);
  }
}
