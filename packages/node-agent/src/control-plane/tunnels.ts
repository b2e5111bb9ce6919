import type { BackoffOptions } from '@capstan/machinery';
import { dialTunnel, heartbeatsPath, TunnelError, type TunnelHandler, TunnelKeeper, type TunnelLimits } from '@capstan/streams';
import type { Identity } from '../identity/state.ts';
import { HeartbeatStreams } from './heartbeat-streams.ts';

export interface AgentTunnelsOptions {
  readonly identity: () => Identity;
  readonly handle: TunnelHandler;
  readonly backoff: BackoffOptions;
  readonly limits?: Partial<TunnelLimits>;
  readonly log: (line: string) => void;
  /** A server did not accept the identity. */
  readonly onRefused: () => void;
  /** A tunnel ended: there may be other servers now. */
  readonly onLost: () => void;
}

/** A tunnel to each API server. */
export class AgentTunnels implements AsyncDisposable {
  readonly #options: AgentTunnelsOptions;
  readonly #keepers = new Map<string, TunnelKeeper>();
  readonly #ending = new Set<Promise<void>>();
  readonly heartbeats = new HeartbeatStreams();

  constructor(options: AgentTunnelsOptions) {
    this.#options = options;
  }

  /** The URLs of the servers with an open tunnel. */
  get connected(): string[] {
    return [...this.#keepers].flatMap(([url, keeper]) => (keeper.isConnected ? [url] : []));
  }

  /** Keeps tunnels to these servers and no others. */
  keep(servers: readonly string[]): void {
    for (const [url, keeper] of this.#keepers) {
      if (servers.includes(url)) continue;
      this.#keepers.delete(url);
      this.#end(keeper);
    }
    for (const url of servers) if (!this.#keepers.has(url)) this.#keepers.set(url, this.#keeper(url));
  }

  /** Opens all tunnels anew, with the present identity. Open streams go on in the old ones. */
  redial(): void {
    for (const keeper of this.#keepers.values()) keeper.redial();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const keeper of this.#keepers.values()) this.#end(keeper);
    this.#keepers.clear();
    await Promise.all(this.#ending);
  }

  #end(keeper: TunnelKeeper): void {
    const ending = keeper[Symbol.asyncDispose]().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #keeper(url: string): TunnelKeeper {
    const { identity, handle, backoff, limits, log, onRefused, onLost } = this.#options;
    let isKnown = false;
    return new TunnelKeeper({
      ...limits,
      dial: (signal) => {
        const { authority: ca, certificate: cert, key } = identity();
        return dialTunnel({ url, tls: { ca, cert, key }, signal });
      },
      handle: (request) => (request.path === heartbeatsPath ? this.heartbeats.serve(url, request) : handle(request)),
      backoff,
      onError: (error) => log(`a request failed: ${error instanceof Error ? error.message : String(error)}`),
      onConnected: () => {
        isKnown = false;
        log(`the tunnel to ${url} is open`);
      },
      onDisconnected: (error) => {
        // Once for each loss, not for every attempt.
        if (!isKnown) log(`the tunnel to ${url} ended${error instanceof Error ? `: ${error.message}` : ''}`);
        isKnown = true;
        if (error instanceof TunnelError && error.status === 401) onRefused();
        onLost();
      },
    });
  }
}
