import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '@capstan/client';

export interface PulseOptions {
  /** Asks the server, as the user, whether it still accepts the token. */
  readonly ask: (signal: AbortSignal) => Promise<unknown>;
  /** In milliseconds: between questions, and until a server that does not answer counts as lost. */
  readonly every: number;
  readonly within: number;
  readonly onAnswer: () => void;
  /** With the time since when the server does not answer. */
  readonly onSilence: (since: number) => void;
  /** The server no longer accepts the token. */
  readonly onRefusal: () => void;
}

/**
 * Asks the API server regularly as the user of a session. Open watches alone say neither that a token is no longer accepted, which a server may check only at the beginning, nor that the server
 * hangs, because a silent watch is a normal one.
 */
export class Pulse implements Disposable {
  readonly #options: PulseOptions;
  readonly #stop = new AbortController();

  constructor(options: PulseOptions) {
    this.#options = options;
    void this.#run();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await sleep(this.#options.every, undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted) await this.#ask();
    }
  }

  async #ask(): Promise<void> {
    const { ask, within, onAnswer, onSilence, onRefusal } = this.#options;
    const began = Date.now();
    const stopped = this.#stop.signal;
    try {
      await ask(AbortSignal.any([stopped, AbortSignal.timeout(within)]));
    } catch (error) {
      if (stopped.aborted) return;
      if (!(error instanceof ApiError)) return onSilence(began);
      if (error.code === 401) return onRefusal();
    }
    if (!stopped.aborted) onAnswer();
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }
}
