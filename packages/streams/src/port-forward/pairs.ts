import type { Duplex, Writable } from 'node:stream';
import type { SpdyConnection } from '../spdy/connection.ts';
import type { SpdyStream } from '../spdy/stream.ts';

/** The protocol of port-forwards over SPDY. */
export const portForwardProtocol = 'portforward.k8s.io';
/** The same inside a WebSocket. */
export const tunnelledPortForwardProtocol = 'SPDY/3.1+portforward.k8s.io';

/** One connection to a port. */
export interface ForwardedConnection {
  readonly port: number;
  readonly data: Duplex;
  /** Takes a text if the connection fails. */
  readonly error: Writable;
}

export interface PortForwardOptions {
  readonly onConnection: (connection: ForwardedConnection) => void;
  /** How long the second stream of a pair may take, in milliseconds. */
  readonly patience?: number;
}

interface Pair {
  readonly timer: NodeJS.Timeout;
  data?: SpdyStream;
  error?: SpdyStream;
}

/** Serves a port-forward over SPDY: the client opens two streams for each connection. */
export class PortForwardServer {
  readonly #pairs = new Map<string, Pair>();
  readonly #options: PortForwardOptions;

  /** `connect` makes the connection with the given handler for its streams. */
  constructor(connect: (onStream: (stream: SpdyStream) => void) => SpdyConnection, options: PortForwardOptions) {
    this.#options = options;
    void connect((stream) => this.#opened(stream)).closed.then(() => {
      for (const pair of this.#pairs.values()) clearTimeout(pair.timer);
      this.#pairs.clear();
    });
  }

  #opened(stream: SpdyStream): void {
    const { streamtype: type, port: portText = '' } = stream.headers;
    const port = Number(portText);
    if ((type !== 'data' && type !== 'error') || !/^\d{1,5}$/.test(portText) || port < 1 || port > 65_535)
      throw new Error(`expected a stream of type data or error for a port, found ${JSON.stringify(type)} for ${JSON.stringify(portText)}`);
    const id = requestId(stream, type);
    const pair = this.#pairs.get(id) ?? this.#begin(id);
    if (pair[type] !== undefined) throw new Error(`the request ${id} has two streams of type ${type}`);
    pair[type] = stream;
    if (pair.data === undefined || pair.error === undefined) return;
    clearTimeout(pair.timer);
    this.#pairs.delete(id);
    pair.error.resume();
    this.#options.onConnection({ port, data: pair.data, error: pair.error });
  }

  #begin(id: string): Pair {
    const timer = setTimeout(() => {
      const pair = this.#pairs.get(id);
      this.#pairs.delete(id);
      pair?.data?.destroy();
      pair?.error?.destroy();
    }, this.#options.patience ?? 30_000);
    const pair: Pair = { timer };
    this.#pairs.set(id, pair);
    return pair;
  }
}

/** Old clients send no id. They open the error stream first and the data stream right after it. */
function requestId(stream: SpdyStream, type: 'data' | 'error'): string {
  return stream.headers['requestid'] ?? String(type === 'error' ? stream.id : stream.id - 2);
}
