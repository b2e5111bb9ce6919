import type { Duplex } from 'node:stream';
import { type Heartbeat, readMessages, writeMessage } from './messages.ts';

interface Waiting {
  readonly id: number;
  readonly answered: PromiseWithResolvers<string | undefined>;
}

/** The agent's end of a stream for heartbeats. One at a time is on its way. */
export class HeartbeatSender {
  readonly #stream: Duplex;
  #id = 0;
  #waiting: Waiting | undefined;

  constructor(stream: Duplex) {
    this.#stream = stream;
    readMessages(stream, ({ id, resourceVersion }) => {
      if (this.#waiting === undefined || this.#waiting.id !== id) throw new Error('expected the answer to a heartbeat');
      this.#waiting.answered.resolve(typeof resourceVersion === 'string' ? resourceVersion : undefined);
      this.#waiting = undefined;
    });
    stream.once('close', () => this.#waiting?.answered.reject(new Error('the stream of heartbeats ended')));
  }

  /** Whether the server can be sent a heartbeat: it has answered all before it. */
  get isFree(): boolean {
    return this.#waiting === undefined && !this.#stream.destroyed;
  }

  /**
   * Resolves with the version of the renewed Lease, or with undefined if the server did not renew it: an ordinary request says why. Rejects if the stream ends, or
   * if the signal aborts first; then the Lease may have been renewed or not.
   */
  async send(heartbeat: Heartbeat, signal: AbortSignal): Promise<string | undefined> {
    signal.throwIfAborted();
    const waiting: Waiting = { id: ++this.#id, answered: Promise.withResolvers() };
    this.#waiting = waiting;
    const abort = (): void => waiting.answered.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    writeMessage(this.#stream, { id: waiting.id, ...heartbeat });
    try {
      return await waiting.answered.promise;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }
}
