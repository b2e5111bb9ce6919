import { createHash } from 'node:crypto';
import type { ByteCount } from '@capstan/serving';
import { Problem } from '../problems/problem.ts';

export interface TrafficLimits {
  /** Requests that run at the same time, in total and with one token. */
  readonly requests: number;
  readonly requestsPerToken: number;
  /** Bytes of requests and responses that are held at the same time, in total and for one token or address. */
  readonly bytes: number;
  readonly bytesPerToken: number;
}

/** The share of one request. Disposing gives it back. */
export interface Share extends ByteCount, Disposable {}

export interface RunningRequest extends Share {
  /** It is no longer one of the requests that run. */
  leave(): void;
}

const retry = { headers: { 'retry-after': '1' } };

/** Limits what all requests hold together. Tokens are told apart as they are: nobody can use the share of another by claiming their name. */
export class Traffic {
  readonly #limits: TrafficLimits;
  readonly #requests = new Map<string, number>();
  readonly #bytes = new Map<string, number>();
  #running = 0;
  #held = 0;

  constructor(limits: TrafficLimits) {
    this.#limits = limits;
  }

  get running(): number {
    return this.#running;
  }

  get held(): number {
    return this.#held;
  }

  /** Begins a request. Throws a problem if too many run. */
  begin(authorization: string): RunningRequest {
    const owner = ownerOf(authorization);
    const { requests, requestsPerToken } = this.#limits;
    const own = this.#requests.get(owner) ?? 0;
    if (own >= requestsPerToken || this.#running >= requests)
      throw new Problem('too_many_requests', 'Too many requests run at the same time. Try again.', retry);
    this.#running++;
    this.#requests.set(owner, own + 1);
    const share = this.share(owner);
    let isRunning = true;
    const leave = (): void => {
      if (!isRunning) return;
      isRunning = false;
      this.#running--;
      lower(this.#requests, owner, 1);
    };
    return {
      take: (bytes) => share.take(bytes),
      leave,
      [Symbol.dispose]: () => {
        share[Symbol.dispose]();
        leave();
      },
    };
  }

  /** Bytes only: for bodies of those who are not known yet, by address. */
  share(owner: string): Share {
    let taken = 0;
    return {
      take: (bytes) => {
        const { bytes: all, bytesPerToken } = this.#limits;
        const own = (this.#bytes.get(owner) ?? 0) + bytes;
        if (own > bytesPerToken || this.#held + bytes > all)
          throw new Problem(
            'too_many_requests',
            'Requests and responses at the same time have too many bytes. Ask for less, or try again.',
            retry,
          );
        taken += bytes;
        this.#held += bytes;
        this.#bytes.set(owner, own);
      },
      [Symbol.dispose]: () => {
        this.#held -= taken;
        lower(this.#bytes, owner, taken);
        taken = 0;
      },
    };
  }
}

function ownerOf(authorization: string): string {
  return createHash('sha256').update(authorization).digest('base64url');
}

function lower(counts: Map<string, number>, owner: string, by: number): void {
  const left = (counts.get(owner) ?? 0) - by;
  if (left > 0) counts.set(owner, left);
  else counts.delete(owner);
}
