import type { Exchange } from '../http/exchange.ts';

/** One open stream between a client and a node. */
export interface OpenStream {
  readonly exchange: Exchange;
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal;
  /** Bytes from the client and to it. Streams that take over a connection are counted by its socket. */
  received: number;
  sent: number;
  /** Tells the client that the server stops. Until it is set, the signal has to do. */
  goAway: (() => void) | undefined;
}

export interface OpenStreamsOptions {
  readonly now?: () => number;
}

/** Made once: each would have a stack, which takes longer to write down than most streams take to end. */
const over = new Error('the stream is over');
/** How long a stream may take to say goodbye when the server stops, in milliseconds: less than the listener waits for connections. */
const grace = 1_000;

/** All open streams of a server. They end when it stops. */
export class OpenStreams implements Disposable {
  readonly #open = new Map<OpenStream, AbortController>();
  readonly #now: () => number;
  #isStopping = false;

  constructor({ now = () => performance.now() }: OpenStreamsOptions = {}) {
    this.#now = now;
  }

  get count(): number {
    return this.#open.size;
  }

  /**
   * Serves a stream until it is over. When it was one, notes bytes and duration for the audit log, in the annotations of the exchange.
   */
  async serve(exchange: Exchange, serving: (stream: OpenStream) => Promise<void>): Promise<void> {
    const stop = new AbortController();
    const stream: OpenStream = { exchange, signal: stop.signal, received: 0, sent: 0, goAway: undefined };
    const { socket } = exchange;
    const [read, written] = [socket.bytesRead, socket.bytesWritten];
    const began = this.#now();
    this.#open.set(stream, stop);
    exchange.onClose(() => stop.abort(over));
    if (this.#isStopping || exchange.closed) stop.abort(over);
    try {
      await serving(stream);
    } finally {
      this.#open.delete(stream);
      stop.abort(over);
      const isWhole = exchange.code === 101;
      if (exchange.answered) {
        exchange.annotations = {
          ...exchange.annotations,
          'streams.capstan.dev/received-bytes': String(isWhole ? socket.bytesRead - read : stream.received),
          'streams.capstan.dev/sent-bytes': String(isWhole ? socket.bytesWritten - written : stream.sent),
          'streams.capstan.dev/duration': `${((this.#now() - began) / 1000).toFixed(3)}s`,
        };
      }
    }
  }

  [Symbol.dispose](): void {
    this.#isStopping = true;
    for (const [stream, stop] of this.#open) {
      if (stream.goAway === undefined) stop.abort(over);
      else {
        stream.goAway();
        setTimeout(() => stop.abort(over), grace).unref();
      }
    }
  }
}
