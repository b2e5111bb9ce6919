import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { claimsOf } from '@capstan/serving';
import { Problem } from '../problems/problem.ts';

export interface StreamLimits {
  /** Open streams of one user. */
  readonly perUser: number;
  readonly overall: number;
  /** In milliseconds: how often a comment is sent on a silent stream. */
  readonly heartbeat: number;
  /** In milliseconds: how long a reader may take to accept anything. */
  readonly patience: number;
}

export interface Stream extends Disposable {
  /** Aborted when the reader is gone or the server stops. */
  readonly signal: AbortSignal;
  /** Counts the stream as one of its user. Call it once the API server has accepted the token: until then, nobody knows whose it is. */
  accept(): void;
}

/** The streams that are open. They are counted by user, and end with the server. */
export class Streams {
  readonly limits: StreamLimits;
  readonly #open = new Set<AbortController>();
  readonly #byUser = new Map<string, number>();
  #isClosed = false;
  /** Called when a response becomes a stream: streams are counted apart from requests. */
  onBegin: ((response: ServerResponse) => void) | undefined;

  constructor(limits: StreamLimits) {
    this.limits = limits;
  }

  get count(): number {
    return this.#open.size;
  }

  begin(authorization: string, response: ServerResponse): Stream {
    if (this.#isClosed) throw new Problem('unavailable', 'The server is stopping. Try again.', { headers: { 'retry-after': '1' } });
    const user = userKey(authorization);
    const { perUser, overall } = this.limits;
    this.#check(user);
    if (this.#open.size >= overall) throw tooMany(`This server can have ${overall} open streams. Try again.`);
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    this.#open.add(controller);
    this.onBegin?.(response);
    response.on('close', abort);
    let isCounted = false;
    return {
      signal: controller.signal,
      accept: () => {
        this.#check(user);
        isCounted = true;
        this.#byUser.set(user, (this.#byUser.get(user) ?? 0) + 1);
      },
      [Symbol.dispose]: () => {
        response.off('close', abort);
        this.#open.delete(controller);
        if (!isCounted) return;
        isCounted = false;
        const left = (this.#byUser.get(user) ?? perUser) - 1;
        if (left > 0) this.#byUser.set(user, left);
        else this.#byUser.delete(user);
      },
    };
  }

  #check(user: string): void {
    const { perUser } = this.limits;
    if ((this.#byUser.get(user) ?? 0) >= perUser) throw tooMany(`Each user can have ${perUser} open streams. Close one first.`);
  }

  /** Ends all streams, and accepts no more. */
  end(): void {
    this.#isClosed = true;
    for (const controller of this.#open) controller.abort();
  }
}

function tooMany(detail: string): Problem {
  return new Problem('too_many_streams', detail, { headers: { 'retry-after': '5' } });
}

/** A token of another form is a user of its own. */
function userKey(authorization: string): string {
  const { iss, sub } = claimsOf(authorization) ?? {};
  return createHash('sha256')
    .update(typeof sub === 'string' ? JSON.stringify([iss, sub]) : authorization)
    .digest('base64url');
}
