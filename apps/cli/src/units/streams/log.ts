import { setTimeout as sleep } from 'node:timers/promises';
import { unitContainer } from '@capstan/api';
import { ApiError } from '@capstan/client';
import { Backoff } from '@capstan/machinery';
import { TimedLog } from '@capstan/streams';
import { isPassing } from '../units.ts';
import { explainedFor, podPath, type UnitPod } from './pod.ts';

export interface LogOptions {
  readonly follow?: boolean | undefined;
  /** With `follow`: wait for a program that is about to start. Servers that cannot do that refuse, as without it. */
  readonly awaitStart?: boolean | undefined;
  readonly previous?: boolean | undefined;
  readonly tail?: number | undefined;
  /** Only lines since then. */
  readonly since?: Date | undefined;
  readonly timestamps?: boolean | undefined;
  readonly container?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called before the first text is written. */
  readonly onBegin?: (() => void) | undefined;
  /** Called when the connection is lost, and with undefined when it is back. */
  readonly onTrouble?: ((reason: string | undefined) => void) | undefined;
}

/** A program may be silent for as long as it likes. */
const noIdleLimit = 2 ** 31 - 1;

/**
 * Writes the log of a unit to the output, until it is complete, or until the program has ended if it is followed. A stream that breaks is continued where it
 * broke. Fails with the error of the server if there is no log.
 */
export class UnitLog {
  readonly #pod: UnitPod;
  readonly #options: LogOptions;
  readonly #reader: TimedLog;
  #full: Promise<void> | undefined;
  #isTroubled = false;
  #hasWritten = false;

  constructor(pod: UnitPod, options: LogOptions, output: NodeJS.WritableStream = process.stdout) {
    this.#pod = pod;
    this.#options = options;
    this.#reader = new TimedLog(
      (bytes) => {
        if (!this.#hasWritten) options.onBegin?.();
        this.#hasWritten = true;
        if (!output.write(bytes)) this.#full ??= new Promise((resolve) => void output.once('drain', () => resolve()));
      },
      { keepTimes: options.timestamps === true },
    );
  }

  /** Can be called again to go on after the end, such as when the program was restarted. */
  async read(): Promise<void> {
    const { signal, follow, onTrouble } = this.#options;
    const backoff = new Backoff({ base: 200, max: 3_000, random: Math.random });
    for (;;) {
      try {
        await this.#attempt(() => {
          if (this.#isTroubled) onTrouble?.(undefined);
          this.#isTroubled = false;
          backoff.reset();
        });
        return;
      } catch (error) {
        if (signal?.aborted === true) return;
        if (follow !== true || !isPassing(error)) throw error;
        if (!this.#isTroubled) onTrouble?.((error as Error).message);
        this.#isTroubled = true;
        await sleep(backoff.next(), undefined, { ...(signal && { signal }) }).catch(() => {});
      }
    }
  }

  /** Reads the rest of a log that is complete. Fails if that is impossible. */
  async finish(): Promise<void> {
    await this.#attempt(() => {}, false);
  }

  /** Whether anything was printed. */
  get hasBegun(): boolean {
    return this.#reader.hasBegun;
  }

  async #attempt(onOpen: () => void, follow = this.#options.follow): Promise<void> {
    const { client } = this.#pod.units;
    const answer = await client.send({ method: 'GET', path: this.#path(follow), dedicated: true, signal: this.#options.signal });
    if (answer.code !== 200) {
      let text = '';
      await answer.read(10_000, (part) => void (text += part));
      throw explainedFor(ApiError.of(answer.code, text), this.#pod);
    }
    onOpen();
    await answer.readBytes(noIdleLimit, (bytes) => {
      this.#reader.push(bytes);
      const full = this.#full;
      this.#full = undefined;
      return full;
    });
  }

  #path(follow: boolean | undefined): string {
    const { previous, tail, since, container = unitContainer, awaitStart } = this.#options;
    const resumed = this.#reader.resume();
    const from = resumed ?? since?.toISOString();
    const query = new URLSearchParams({ container, timestamps: 'true' });
    if (follow === true) query.set('follow', 'true');
    if (follow === true && awaitStart === true && resumed === undefined) query.set('awaitStart', 'true');
    if (previous === true) query.set('previous', 'true');
    if (from !== undefined) query.set('sinceTime', from);
    if (tail !== undefined && resumed === undefined) query.set('tailLines', String(tail));
    return `${podPath(this.#pod, 'log')}?${query.toString()}`;
  }
}
