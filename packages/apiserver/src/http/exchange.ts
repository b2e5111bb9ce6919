import type { IncomingHttpHeaders } from 'node:http';
import type { TLSSocket } from 'node:tls';

export interface Answer {
  readonly code: number;
  /** Empty for an answer without a body. */
  readonly type: string;
  readonly body: string | Buffer;
}

/** Whoever has to do something before an answer leaves. */
export interface AnswerKeeper {
  /** Asked when the answer is known. */
  readonly holds: boolean;
  /** `send` is to be called once, when the answer may leave. */
  hold(send: () => void): void;
}

/** One request and its answer, whatever the version of HTTP. */
export interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** `name, value, name, value…` as they came. */
  readonly rawHeaders: readonly string[];
  readonly remoteAddress: string;
  readonly socket: TLSSocket;
  /** Called once, just before the answer is sent: the last chance to add headers. */
  beforeAnswer: (() => void) | undefined;
  /** Answers that go on, such as watches, are not held. */
  keeper: AnswerKeeper | undefined;
  /** The bodies as they were received and sent, for the audit log. */
  readonly received: Buffer | undefined;
  readonly sent: string | Buffer | undefined;
  /** What the audit log says beside. */
  annotations: Readonly<Record<string, string>> | undefined;
  /** Adds a header to the answer; before it is sent. */
  header(name: string, value: string): void;
  /** Reads the whole body. Rejects with a `StatusError` when it is too large or does not arrive. */
  body(limit: number): Promise<Buffer>;
  send(answer: Answer): void;
  /** Begins an answer that goes on. */
  stream(code: number, type: string): AnswerStream;
  readonly answered: boolean;
  /** The code that was answered with; 0 before. */
  readonly code: number;
  /** Whether it is over. */
  readonly closed: boolean;
  /** Called once when the exchange is over, however it ended. */
  onClose(listener: () => void): void;
  /** To be called when the sender has said who they are: strangers make room for such connections. */
  authenticated(): void;
}

export interface AnswerStream {
  write(chunk: string | Buffer): void;
  /** Bytes that the client has not taken yet. */
  readonly pending: number;
  end(): void;
  /** Cuts the connection: the client did not read for too long. */
  abort(): void;
  /** Calls back when what was written has been taken. */
  onDrain(listener: () => void): void;
}
