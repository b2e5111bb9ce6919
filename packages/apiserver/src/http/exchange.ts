import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { UpgradeRequest } from '@capstan/streams';

export interface Answer {
  readonly code: number;
  /** Empty for a response without a body. */
  readonly type: string;
  readonly body: string | Buffer;
}

/** Something that has to happen before a response is sent, such as writing an audit record. */
export interface AnswerKeeper {
  /** Read when the response is known. */
  readonly holds: boolean;
  /** Must call `send` once, when the response may be sent. */
  hold(send: () => void): void;
}

/** Counts bytes that are held in memory for a client. */
export interface ByteAccount {
  /** False if there would be too many. */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

/** A connection that need not be read for a while. */
export interface Holdable {
  /** Stops reading it. False if that is not possible, or if it is held already. */
  hold(): boolean;
  release(): void;
}

/** The client that a request is served for, when that is known. */
export interface ClientAccount {
  /** Those with the same name share what the server has. */
  readonly tenant: string;
  /** Those with the same tenant take turns. */
  readonly user: string;
  /** How many connections those with the same name may have. */
  readonly mostConnections: number;
  /** Bytes of responses that it has not read yet. */
  readonly unsent: ByteAccount;
  /** Resolves when work that may be long may run; undefined if it may at once. */
  start(): undefined | Promise<void>;
  /** The same when a request goes on after it has waited for the store. */
  goOn(): undefined | Promise<void>;
  /** To be called when a request is answered, and for each part of a long body: the rest is read when it is the turn of the client. */
  beforeReading(connection: Holdable): void;
  /** Resolves when a piece of long work for it may run. */
  turn(): Promise<void>;
  /** Whether its requests wait for their turns, because others use the event loop too and it has used its share. */
  isHeldBack(): boolean;
  /** Does long work of many pieces, one after another for each tenant. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

/** One request and its response, independent of the HTTP version. */
export interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** `name, value, name, value…` as received. */
  readonly rawHeaders: readonly string[];
  readonly remoteAddress: string;
  readonly socket: TLSSocket;
  /** Called once, just before the response is sent: the last chance to add headers. */
  beforeAnswer: (() => void) | undefined;
  /** Streaming responses, such as watches, are not held. */
  keeper: AnswerKeeper | undefined;
  /** The bodies as they were received and sent, for the audit log. */
  readonly received: Buffer | undefined;
  readonly sent: string | Buffer | undefined;
  /** The object that is written, for the audit log: the path of a creation does not name it. Both may be empty. */
  written: { readonly name: string; readonly resourceVersion: string } | undefined;
  /** Additional annotations for the audit log. */
  annotations: Readonly<Record<string, string>> | undefined;
  /** Adds a header to the response, before it is sent. */
  header(name: string, value: string): void;
  /** Reads the whole body. Rejects with a `StatusError` if it is too large or does not arrive. */
  body(limit: number): Promise<Buffer>;
  readonly hasBody: boolean;
  /** The body as it arrives, for those who pass it on. */
  bodyStream(): Readable;
  send(answer: Answer): void;
  /** Starts a streaming response. Exactly `length` bytes must follow if it is given. */
  stream(code: number, type: string, length?: number): AnswerStream;
  readonly answered: boolean;
  /** The status code sent; 0 before that. */
  readonly code: number;
  /** Whether the exchange is over. */
  readonly closed: boolean;
  /** Ends it at once, without the rest of the response. */
  abandon(): void;
  /** Called once when the exchange is over, however it ended. */
  onClose(listener: () => void): void;
  /** The protocol that an HTTP/1.1 client wants to switch to, in lower case; undefined for ordinary requests. */
  readonly upgradeTo: string | undefined;
  /** Hands over the connection of a request with `upgradeTo` to the caller, which sends the response: 101 with the given headers. */
  upgrade(): UpgradeRequest;
  /** Set for streams of which little waits for the client: it may stop reading for as long as it likes. */
  isPatient: boolean;
  /** To be awaited before a stream starts: the last chance to record it. */
  beforeStream: (() => Promise<void>) | undefined;
  client: ClientAccount | undefined;
  /** The tenant of the last request on the same connection; empty if there was none. */
  readonly owner: string;
  /** The user of that request. */
  readonly lastUser: string;
  /** Whether the request has the same credentials as the last one, and is for the same workspace: connections of proxies have many senders. */
  readonly isLikeLast: boolean;
  /** The tenant whose turn it was when the request began; undefined if it need not wait. */
  turnOf: string | undefined;
  /** Whether the audit log needs the bodies. */
  isRecorded: boolean;
  /** Called when the body has arrived. The handler gets it when the promise resolves, or at once without one. */
  afterBody: (() => undefined | Promise<void>) | undefined;
  /** Who the bytes of the body are counted for. */
  bodyBytes: ByteAccount | undefined;
  /** To be called when the sender is authenticated: unauthenticated connections are closed first to make room. */
  authenticated(): void;
}

export interface AnswerStream {
  write(chunk: string | Buffer): void;
  /** Bytes that the client has not read yet. */
  readonly pending: number;
  end(): void;
  /** Closes the connection of a client that has not read for too long. */
  abort(): void;
  /** Calls back when everything written has been read. */
  onDrain(listener: () => void): void;
}
