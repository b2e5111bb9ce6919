import { setImmediate } from 'node:timers/promises';
import { type AnswerHeartbeat, type Heartbeat, heartbeatsPath, receiveHeartbeats, type Tunnel } from '@capstan/streams';
import type { RenewLease } from './lease-renewal.ts';

export interface HeartbeatsOptions {
  readonly renew: RenewLease;
  /** In milliseconds: how long a heartbeat waits for others. */
  readonly window?: number;
}

interface Waiting {
  readonly certificate: Buffer;
  readonly heartbeat: Heartbeat;
  readonly answer: AnswerHeartbeat;
}

/** How many Leases are renewed in one turn of the event loop: a millisecond or two of work. Operations that find more beside them wait for turns of their own, which costs more. */
const atOnce = 8;

/**
 * Renews the Leases of nodes whose agents say through their tunnels that they live. Agents do so at about the same times, and those that arrive within a short time are renewed
 * together: a commit serves many, and so does the code that is in the caches of the processor.
 */
export class Heartbeats {
  readonly #renew: RenewLease;
  readonly #window: number;
  #waiting: Waiting[] = [];
  #streams = 0;
  /** How many Leases were renewed, and how many heartbeats were left to requests. */
  readonly results = new Map([
    ['renewed', 0],
    ['left', 0],
  ]);

  constructor({ renew, window = 250 }: HeartbeatsOptions) {
    this.#renew = renew;
    this.#window = window;
  }

  /** The agents that send heartbeats through their tunnels. */
  get streams(): number {
    return this.#streams;
  }

  /** Asks the agent at the other end of a tunnel for heartbeats, until it has no more streams. `certificate` is that of its connection, in DER. */
  async follow(tunnel: Tunnel, certificate: Buffer): Promise<void> {
    const stop = new AbortController();
    void tunnel.ended.then(() => stop.abort());
    try {
      const { status, stream } = await tunnel.request({ method: 'POST', path: heartbeatsPath, signal: stop.signal });
      // Agents of earlier versions know no such path.
      if (status !== 200) return void stream.destroy();
      this.#streams++;
      stream.once('close', () => this.#streams--);
      receiveHeartbeats(stream, (heartbeat, answer) => this.#add({ certificate, heartbeat, answer }));
    } catch {
      // The agent has left, or will open another tunnel.
    }
  }

  #add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    if (this.#waiting.length === 1) setTimeout(() => void this.#renewAll(), this.#window).unref();
  }

  async #renewAll(): Promise<void> {
    const all = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < all.length; at += atOnce) {
      if (at > 0) await setImmediate();
      for (const one of all.slice(at, at + atOnce)) void this.#renewOne(one);
    }
  }

  async #renewOne({ certificate, heartbeat, answer }: Waiting): Promise<void> {
    const version = await this.#renew(certificate, heartbeat).catch(() => undefined);
    const result = version === undefined ? 'left' : 'renewed';
    this.results.set(result, (this.results.get(result) ?? 0) + 1);
    answer(version);
  }
}
