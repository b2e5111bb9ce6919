/** In milliseconds. */
export interface Timeouts {
  /** To connect, including the TLS handshake. Browsers do not report connecting, so there it counts as part of the response. */
  readonly connect: number;
  /** From sending a request to the head of its response. */
  readonly response: number;
  /** Between two chunks of a response body. */
  readonly idle: number;
}

export const defaultTimeouts: Timeouts = { connect: 10_000, response: 60_000, idle: 60_000 };

export interface Outgoing {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal | undefined;
  readonly timeouts?: Partial<Timeouts>;
  /** Use a connection outside the pool: for long-lived responses. */
  readonly dedicated?: boolean;
}

/** The head of a response, whose body has not been read. */
export interface Received {
  readonly code: number;
  /** The values of a header, joined by commas; undefined if absent. The name is in lower case. */
  header(name: string): string | undefined;
  /**
   * Calls `onText` with each chunk of the body as it arrives, and reads no more until a promise that it returns is settled. Fails if the body is
   * silent for `idle` milliseconds, or is truncated.
   */
  read(idle: number, onText: (text: string) => Promise<void> | undefined | void): Promise<void>;
  /** The same for a body that is not text. */
  readBytes(idle: number, onBytes: (bytes: Uint8Array) => Promise<void> | undefined | void): Promise<void>;
  /** Stops reading: `read` fails, unless it has finished. */
  destroy(): void;
}

/** The connections to one server. */
export interface Transport extends Disposable {
  /** Resolves with the head of the response. Its body must be read or destroyed. */
  send(outgoing: Outgoing): Promise<Received>;
}
