import type { Parts } from '@capstan/machinery';
import { nextTurn } from '../http/next-turn.ts';

/**
 * How long the parts of an operation may run before others get their turn, in milliseconds. The first slice is longer: the clock also counts requests that
 * run in between, and short ones should not wait because there are many. Those of a client that is held back wait anyway.
 */
const slices = { first: 4, later: 1, heldBack: 0.5 };

/** Gives turns to those who wait for one. */
export interface Turns {
  turn(): Promise<void>;
  /** A turn for an operation that goes on after it has waited for the store; undefined if it may at once. */
  goOn?(): Promise<void> | undefined;
  /** Whether the client's requests wait for their turns, because others use the event loop too and it has used its share. */
  isHeldBack?(): boolean;
}

/**
 * Lets others run between the parts of a long operation. The clock decides only when to let them run, never about an outcome. Short operations
 * never wait.
 */
export class Pace {
  readonly #turns: Turns;
  readonly #now: () => number;
  #since: number;
  #hasWaited = false;

  constructor(turns: Turns = { turn: nextTurn }, now: () => number = () => performance.now()) {
    this.#turns = turns;
    this.#now = now;
    this.#since = now();
  }

  /** Whether others have run since the operation began. */
  get hasWaited(): boolean {
    return this.#hasWaited;
  }

  /** To be called when the operation continues after it waited for something else. */
  resume(): void {
    this.#since = this.#now();
  }

  /** Waits for a turn if the operation has run for long; otherwise undefined, so that nothing need be awaited. */
  pause(): Promise<void> | undefined {
    const spent = this.#now() - this.#since;
    if (spent < slices.heldBack) return undefined;
    const isOver = spent >= (this.#hasWaited ? slices.later : slices.first) || this.#turns.isHeldBack?.() === true;
    return isOver ? this.#wait() : undefined;
  }

  /** Runs an operation in parts, with pauses between them; a promise only if it has to wait. */
  run<Result>(parts: Parts<Result>): Result | Promise<Result> {
    for (;;) {
      const part = parts.next();
      if (part.done) return part.value;
      const pausing = this.pause();
      if (pausing !== undefined) return this.#continue(parts, pausing);
    }
  }

  async #continue<Result>(parts: Parts<Result>, first: Promise<void>): Promise<Result> {
    await first;
    for (;;) {
      const part = parts.next();
      if (part.done) return part.value;
      const pausing = this.pause();
      if (pausing !== undefined) await pausing;
    }
  }

  async #wait(): Promise<void> {
    await this.#turns.turn();
    this.#hasWaited = true;
    this.resume();
  }
}
