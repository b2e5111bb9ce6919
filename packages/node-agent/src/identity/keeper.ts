import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff, type BackoffOptions } from '@capstan/machinery';
import { AgentError } from './error.ts';
import { renew } from './membership.ts';
import type { Identity, StateDirectory } from './state.ts';

export interface IdentityKeeperOptions {
  readonly state: StateDirectory;
  /** Servers to try, the best first. */
  readonly servers: () => readonly string[];
  readonly now: () => Date;
  readonly backoff: BackoffOptions;
  readonly log: (line: string) => void;
  /** For so long after a renewal, in milliseconds, refusals are ignored: a server may not have heard of it yet. Two seconds if absent. */
  readonly settleTime?: number;
  /** Called with every new identity. */
  readonly onRenewed: (identity: Identity) => void;
}

/** How often the clock is looked at, in milliseconds: it may have been set. */
const longestWait = 60_000;
/** After this time, in milliseconds, a certificate is renewed that by the clock of this machine had expired before it was issued. */
const withoutClock = 3_600_000;

/** Keeps the identity of this machine valid: renews it after half of its life, or at once when a server does not accept it. */
export class IdentityKeeper {
  readonly #options: IdentityKeeperOptions;
  #identity: Identity;
  #wanted = Promise.withResolvers<void>();
  #renewedAt = Number.NEGATIVE_INFINITY;

  constructor(identity: Identity, options: IdentityKeeperOptions) {
    this.#identity = identity;
    this.#options = options;
  }

  get current(): Identity {
    return this.#identity;
  }

  /** A server did not accept the identity: it may have expired by the server's clock, or the node may be gone. */
  doubt(): void {
    if (performance.now() - this.#renewedAt >= (this.#options.settleTime ?? 2_000)) this.#wanted.resolve();
  }

  /** Remembers the servers, for the next start. */
  async remember(servers: readonly string[]): Promise<void> {
    if (servers.length === 0 || String(servers) === String(this.#identity.servers)) return;
    this.#identity = { ...this.#identity, servers };
    await this.#options.state.write(this.#identity, { keepsNextKey: true });
  }

  /** Runs until the signal aborts. Rejects with an `AgentError` `refused` if this machine is no longer accepted. */
  async run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#options.backoff);
    while (!signal.aborted) {
      const isDoubted = await this.#due(signal);
      if (signal.aborted) return;
      if (isDoubted) this.#wanted = Promise.withResolvers();
      try {
        await this.#renew(signal);
        backoff.reset();
        // Servers that still do not accept the new one must not cause a renewal for each refusal.
        if (isDoubted) await sleep(this.#options.backoff.base, undefined, { signal }).catch(() => {});
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof AgentError && error.code === 'refused') throw error;
        this.#options.log(`the certificate could not be renewed: ${error instanceof Error ? error.message : String(error)}`);
        await sleep(backoff.next(), undefined, { signal }).catch(() => {});
      }
    }
  }

  /** Resolves when the certificate is to be renewed; true if that is because somebody refused it. */
  async #due(signal: AbortSignal): Promise<boolean> {
    for (;;) {
      const { issuedAt, expiresAt } = this.#identity;
      const [from, to, now] = [Date.parse(issuedAt), Date.parse(expiresAt), this.#options.now().getTime()];
      const wait = from + (to > from ? (to - from) / 2 : withoutClock) - now;
      // A clock that was set back to before the certificate was issued says nothing about its age.
      if (wait <= 0 || now < from || signal.aborted) return false;
      const stop = new AbortController();
      const slept = sleep(Math.min(wait, longestWait), false, { signal: AbortSignal.any([signal, stop.signal]) }).catch(() => false);
      const isDoubted = await Promise.race([slept, this.#wanted.promise.then(() => true)]);
      stop.abort();
      if (isDoubted) return true;
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { state, servers, now, onRenewed, log } = this.#options;
    let failure: unknown;
    for (const server of new Set([...servers(), ...this.#identity.servers, this.#identity.entry])) {
      try {
        this.#identity = await renew(this.#identity, state, { server, now, signal });
        this.#renewedAt = performance.now();
        log(`the certificate was renewed and is valid until ${this.#identity.expiresAt}`);
        return onRenewed(this.#identity);
      } catch (error) {
        if (error instanceof AgentError && error.code === 'refused') throw error;
        failure = error;
      }
    }
    throw failure ?? new AgentError('unreachable', 'no API server is known');
  }
}
