import type { Duplex, Readable } from 'node:stream';

export interface NodeRequest {
  readonly method: string;
  /** The path and the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body, which is sent before the response arrives. Without it, the stream of the response takes the body. */
  readonly body?: Readable | undefined;
  /** Ends the request and its stream. */
  readonly signal: AbortSignal;
}

export interface NodeResponse {
  readonly status: number;
  /** Names in lower case. Repeated headers are joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** Reads the body of the response and writes that of the request. Destroying it resets the request. */
  readonly stream: Duplex;
}

/** A way to send requests to a node that cannot be dialled. */
export interface NodeConnection {
  /** Resolves with the headers of the response, whatever their status; rejects if the node is gone or the signal is aborted. */
  request(options: NodeRequest): Promise<NodeResponse>;
}
