import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff, type BackoffLimits } from '@capstan/machinery';
import { TimedLog } from '@capstan/streams';
import type { Query } from '../request/info.ts';
import { isAway } from './stored-logs.ts';

export interface FollowedLogOptions {
  /** The options of the request. */
  readonly query: Pick<Query, 'get'>;
  readonly signal: AbortSignal;
  /** The log as the node has it, until the program ends. Rejects if the node refuses, and with `NodeAway` if it cannot be reached. */
  readonly ask: (query: URLSearchParams) => Promise<Readable>;
  /** As far as the node has sent it before; undefined if it has sent nothing. */
  readonly stored: (query: URLSearchParams) => Promise<Readable | undefined>;
  /** The program `runs`, or has `ended`, or its node has nothing of it any more, because it was deleted or started `elsewhere`. */
  readonly state: () => 'runs' | 'ended' | 'elsewhere';
  /** In milliseconds, between two attempts to reach a node that is away. */
  readonly pauses?: BackoffLimits;
}

/** A node cannot be reached; the cause is what a client is told. */
export class NodeAway extends Error {
  override readonly name = 'NodeAway';
}

interface Part {
  readonly body: Readable;
  /** Whether the log ends with it. */
  readonly isLast: boolean;
}

const usualPauses = { base: 250, max: 5_000 };

/**
 * The log of a program, until it ends. While the node is away, it is what the node has sent before, and it goes on when the node is back: no line is lost or repeated. For that, all parts are read with
 * the times of their lines.
 */
export class FollowedLog {
  readonly #options: FollowedLogOptions;
  readonly #timed: TimedLog;
  readonly #backoff: Backoff;
  #texts: Buffer[] = [];
  #left: number;
  #isAway = false;

  constructor(options: FollowedLogOptions) {
    this.#options = options;
    const { query, pauses = usualPauses } = options;
    this.#backoff = new Backoff({ ...pauses, random: Math.random });
    this.#left = query.get('limitBytes') === null ? Number.POSITIVE_INFINITY : Number(query.get('limitBytes'));
    this.#timed = new TimedLog((text) => void this.#texts.push(text), { keepTimes: query.get('timestamps') === 'true' });
  }

  /** Whether the node was away at the beginning. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** Rejects like the first request to the node, if nothing was stored and nothing can follow. */
  async open(): Promise<Readable> {
    const { ask, stored, state } = this.#options;
    const query = this.#query();
    let first: Part;
    try {
      first = { body: await ask(query), isLast: true };
    } catch (error) {
      const isUnreached = error instanceof NodeAway;
      const reason = isUnreached ? error.cause : error;
      if (!isAway(reason)) throw reason;
      const runs = state() === 'runs';
      const body = await stored(query);
      if (body === undefined && !(isUnreached && runs)) throw reason;
      this.#isAway = runs;
      first = { body: body ?? Readable.from([]), isLast: !runs };
    }
    // The first part is open before anybody reads, and nobody may.
    return Readable.from(this.#read(first), { objectMode: false }).once('close', () => first.body.destroy());
  }

  async *#read(first: Part): AsyncGenerator<Buffer> {
    for (let part: Part | undefined = first; part !== undefined; part = await this.#next()) {
      try {
        for await (const bytes of part.body as AsyncIterable<Buffer>) {
          this.#timed.push(bytes);
          this.#backoff.reset();
          const text = this.#taken();
          if (text.length > 0) yield text;
          if (this.#left <= 0) return;
        }
        if (part.isLast) return;
      } catch {
        // The node is away from now on.
      }
    }
  }

  /** The log from here on; undefined if there is nothing more, or nobody waits for it any more. */
  async #next(): Promise<Part | undefined> {
    const { ask, stored, state, signal } = this.#options;
    for (;;) {
      await sleep(this.#backoff.next(), undefined, { signal }).catch(() => {});
      if (signal.aborted) return undefined;
      const known = state();
      try {
        if (known !== 'elsewhere') return { body: await ask(this.#query()), isLast: true };
      } catch {
        // It is still away.
      }
      if (known === 'runs') continue;
      const rest = await stored(this.#query()).catch(() => undefined);
      return rest && { body: rest, isLast: true };
    }
  }

  #query(): URLSearchParams {
    const { query } = this.#options;
    const from = this.#timed.resume();
    const asked = new URLSearchParams({ follow: 'true', timestamps: 'true' });
    for (const name of ['awaitStart', 'tailLines', 'sinceSeconds', 'sinceTime', 'insecureSkipTLSVerifyBackend']) {
      const value = query.get(name);
      if (value !== null) asked.set(name, value);
    }
    if (from === undefined) return asked;
    for (const name of ['awaitStart', 'tailLines', 'sinceSeconds']) asked.delete(name);
    asked.set('sinceTime', from);
    return asked;
  }

  /** The text that has come since the last time, as far as the client wants it. */
  #taken(): Buffer {
    const all = this.#texts.length === 1 ? this.#texts[0]! : Buffer.concat(this.#texts);
    this.#texts = [];
    const text = all.length <= this.#left ? all : all.subarray(0, this.#left);
    this.#left -= text.length;
    return text;
  }
}
