import { uptime } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ServerList, serversPath } from '@capstan/api';
import type { Client } from '@capstan/client';
import { Backoff, type BackoffOptions } from '@capstan/machinery';
import type { TunnelHandler, TunnelLimits } from '@capstan/streams';
import { AgentError } from '../identity/error.ts';
import { IdentityKeeper } from '../identity/keeper.ts';
import type { Identity, StateDirectory } from '../identity/state.ts';
import { type Moment, momentNow } from '../time/moment.ts';
import { Heartbeat, leaseTime, untilNextBeat } from './heartbeat.ts';
import type { Interruptions } from './interruptions.ts';
import { NearestServer } from './nearest-server.ts';
import { fetchServers } from './servers.ts';
import { AgentTunnels } from './tunnels.ts';

export interface ControlPlaneOptions {
  readonly state: StateDirectory;
  readonly handle: TunnelHandler;
  readonly now: () => Date;
  readonly backoff: BackoffOptions;
  readonly limits: Partial<TunnelLimits>;
  /** In milliseconds. */
  readonly heartbeatInterval: number;
  /** How often the list of servers is read, in milliseconds. */
  readonly serversInterval: number;
  readonly log: (line: string) => void;
  /** The Lease was renewed, by a request that was sent at this time. */
  readonly onContact?: (at: Moment) => void;
  /** Hears how the renewals of the Lease go. */
  readonly interruptions?: Pick<Interruptions, 'ticked' | 'failed' | 'reached'>;
  /** Called with every list of servers. */
  readonly onServers?: (list: ServerList) => void;
}

/** In milliseconds: the server has at least so long to answer a heartbeat. */
const shortestAnswer = 5_000;
/** In milliseconds. */
const tickInterval = 1_000;

/** Whether a machine has answered that nothing listens at the port. */
export function isRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return true;
  return isRefused(error.cause) || (error instanceof AggregateError && error.errors.some(isRefused));
}

/** The agent's side of everything between it and the control plane: its identity, its tunnels and its heartbeat. */
export class ControlPlane {
  readonly #options: ControlPlaneOptions;
  readonly #identity: IdentityKeeper;
  readonly #tunnels: AgentTunnels;
  /** The one to ask first comes first. */
  #servers: readonly string[];
  #lost = Promise.withResolvers<void>();
  readonly #nearest: NearestServer;
  /** For root:platform, at whichever server answers. */
  readonly client: Client;

  constructor(identity: Identity, options: ControlPlaneOptions) {
    const { state, now, backoff, log, handle, limits } = options;
    this.#options = options;
    this.#servers = identity.servers;
    this.#tunnels = new AgentTunnels({
      identity: () => this.#identity.current,
      handle,
      backoff,
      limits,
      log,
      onRefused: () => this.#identity.doubt(),
      onLost: () => this.#lost.resolve(),
    });
    const onRenewed = (): void => this.#tunnels.redial();
    this.#identity = new IdentityKeeper(identity, { state, servers: () => this.#servers, now, backoff, log, onRenewed });
    this.#nearest = new NearestServer({
      identity: () => this.#identity.current,
      server: () => this.#servers[0] ?? this.#identity.current.entry,
      onRefused: () => this.#identity.doubt(),
    });
    this.client = this.#nearest.client();
  }

  get identity(): Identity {
    return this.#identity.current;
  }

  /** URLs of the servers, the best first. */
  get servers(): readonly string[] {
    return [...new Set([...this.#servers, this.#identity.current.entry])];
  }

  /** Runs until the signal aborts. Rejects with an `AgentError` `refused` if this machine is no longer accepted. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const running = AbortSignal.any([signal, stop.signal]);
    this.#tunnels.keep(this.#servers);
    const others = Promise.all([this.#followServers(running), this.#beat(running)]);
    try {
      await this.#identity.run(running);
    } finally {
      stop.abort();
      await others;
      await this.#tunnels[Symbol.asyncDispose]();
      this.#nearest[Symbol.dispose]();
    }
  }

  /** Keeps tunnels to all servers, those that come and go included. */
  async #followServers(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#options.backoff);
    let isFirst = true;
    while (!signal.aborted) {
      this.#lost = Promise.withResolvers();
      try {
        const { entry } = this.#identity.current;
        const list = await this.#listServers(signal);
        this.#options.onServers?.(list);
        const found = list.servers.map(({ url }) => url);
        const { connected } = this.#tunnels;
        const isReached = isFirst || found.some((url) => connected.includes(url));
        isFirst = false;
        this.#servers = found;
        await this.#identity.remember(found);
        // Never both if the entry leads to the same servers: two tunnels to one server would replace each other.
        this.#tunnels.keep(isReached ? found : [...new Set([...found, entry])]);
        backoff.reset();
        const due = new AbortController();
        const wait = untilNextBeat(this.#options.serversInterval, this.#options.now().getTime());
        const slept = sleep(wait, undefined, { signal: AbortSignal.any([signal, due.signal]) }).catch(() => {});
        await Promise.race([slept, this.#lost.promise]);
        due.abort();
      } catch (error) {
        if (error instanceof AgentError && error.refusal === 'Unauthorized') this.#identity.doubt();
      }
      await sleep(backoff.next(), undefined, { signal }).catch(() => {});
    }
  }

  /** Over a connection that is open anyway: a handshake would cost the server more than all the rest of an idle agent. */
  async #listServers(signal: AbortSignal): Promise<ServerList> {
    try {
      return await this.client.under('/').json<ServerList>({ method: 'GET', path: serversPath, repeatable: 'once', signal });
    } catch {
      signal.throwIfAborted();
      return fetchServers(this.#identity.current, this.servers, signal);
    }
  }

  async #beat(signal: AbortSignal): Promise<void> {
    const { heartbeatInterval, now, log, onContact, interruptions } = this.#options;
    const { node } = this.#identity.current;
    const heartbeat = new Heartbeat({
      client: this.client,
      node,
      seconds: Math.ceil(leaseTime(heartbeatInterval) / 1000),
      stream: () => this.#tunnels.heartbeats.first(this.servers),
    });
    using _ticking = this.#tick();
    let isFailing = false;
    let isShared = false;
    while (!signal.aborted) {
      try {
        const at = await momentNow();
        const late = AbortSignal.timeout(Math.max(heartbeatInterval, shortestAnswer));
        const found = await heartbeat.beat(now(), AbortSignal.any([signal, late]));
        if (found === 'restored') log('the control plane was restored from a snapshot');
        if (found === 'shared') {
          if (!isShared) log('another agent uses the identity of this node: renewing the certificate, which locks the node if that is so');
          isShared = true;
          this.#identity.doubt();
        }
        onContact?.(at);
        interruptions?.reached(at, { isRestored: found === 'restored' });
        if (isFailing) log('the Lease of this node is renewed again');
        isFailing = false;
      } catch (error) {
        if (signal.aborted) return;
        const why = error instanceof Error ? error.message : String(error);
        interruptions?.failed(why, { isDown: isRefused(error) });
        if (!isFailing) log(`the Lease of this node could not be renewed: ${why}`);
        isFailing = true;
        // The connections may be dead, and another server may answer.
        this.#nearest.reconnect();
        this.#servers = [...this.#servers.slice(1), ...this.#servers.slice(0, 1)];
      }
      await sleep(untilNextBeat(heartbeatInterval, now().getTime()), undefined, { signal }).catch(() => {});
    }
  }

  /** Notices when this process does not run, also while it waits for an answer. */
  #tick(): Disposable {
    let last = uptime() * 1000;
    const timer = setInterval(() => {
      const now = uptime() * 1000;
      this.#options.interruptions?.ticked(last, now, tickInterval);
      last = now;
    }, tickInterval).unref();
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }
}
