import type { IncomingMessage } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { status } from '@capstan/machinery';
import type { UpgradeRequest } from '@capstan/streams';
import type { Connection } from './connection.ts';
import type { Answer, AnswerKeeper, ByteAccount, ClientAccount } from './exchange.ts';
import { tooMuchUnread } from './long-text.ts';
import { nextTurn } from './next-turn.ts';

function tooLarge(limit: number): Error {
  return status.requestTooLarge(`limit is ${limit}`);
}

/** Shorter responses are not counted. */
const uncounted = 256 << 10;
/** Parts of longer bodies are read in turn. */
const longBody = 64 << 10;

function refusal(): Answer {
  const { code, status: body } = tooMuchUnread();
  return { code, type: 'application/json', body: `${JSON.stringify(body)}\n` };
}

/** The parts shared by both protocols. */
export abstract class BaseExchange {
  protected readonly extra: string[] = [];
  code = 0;
  beforeAnswer: (() => void) | undefined;
  keeper: AnswerKeeper | undefined;
  received: Buffer | undefined;
  sent: string | Buffer | undefined;
  written: { readonly name: string; readonly resourceVersion: string } | undefined;
  annotations: Readonly<Record<string, string>> | undefined;
  isPatient = false;
  beforeStream: (() => Promise<void>) | undefined;
  afterBody: (() => undefined | Promise<void>) | undefined;
  bodyBytes: ByteAccount | undefined;
  isRecorded = false;
  #client: ClientAccount | undefined;
  protected readonly connection: Connection;
  /** Rejects the body that is being awaited. */
  #refuseBody: ((error: Error) => void) | undefined;
  /** Since when the client has been awaited, by the clock of the connections. */
  #awaitedSince: number | undefined;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  get upgradeTo(): string | undefined {
    return undefined;
  }

  upgrade(): UpgradeRequest {
    throw new TypeError('expected a request with an Upgrade header');
  }

  authenticated(): void {
    if (!this.connection.isKnown) this.connection.known();
  }

  header(name: string, value: string): void {
    // Every response starts with headers that forbid caching; a page that may be cached overrides them.
    const known = name === 'Cache-Control' || name === 'Vary' ? this.extra.indexOf(name) : -1;
    if (known >= 0 && name === 'Vary') this.#vary(known + 1, value);
    else if (known >= 0) this.extra[known + 1] = value;
    else this.extra.push(name, value);
  }

  /** Names each header that a response varies by once. */
  #vary(at: number, value: string): void {
    if (!this.extra[at]!.split(', ').includes(value)) this.extra[at] += `, ${value}`;
  }

  turnOf: string | undefined;

  get owner(): string {
    return this.connection.owner;
  }

  get lastUser(): string {
    return this.connection.last.user;
  }

  get isLikeLast(): boolean {
    const { authorization, url } = this.connection.last;
    return this.headers.authorization === authorization && workspacePart(this.url) === workspacePart(url);
  }

  get client(): ClientAccount | undefined {
    return this.#client;
  }

  set client(client: ClientAccount | undefined) {
    this.#client = client;
    if (client === undefined) return;
    const { connection } = this;
    if (connection.owner !== client.tenant) connection.belongsTo(client.tenant, client.mostConnections);
    connection.last.authorization = this.headers.authorization;
    connection.last.url = this.url;
    connection.last.user = client.user;
  }

  get answered(): boolean {
    return this.code !== 0;
  }

  send(answer: Answer): void {
    if (this.answered || this.closed) return;
    this.beforeAnswer?.();
    const counted = answer.body.length > uncounted ? this.#counted(answer) : answer;
    this.code = counted.code;
    this.sent = counted.body;
    if (this.keeper?.holds === true) this.keeper.hold(() => this.#respondLater(counted));
    else this.respond(counted);
    this.#afterRead();
  }

  /** More is read when it is the turn of the client. */
  #afterRead(): void {
    this.#client?.beforeReading(this.connection);
  }

  /** Counts a long response until it is read. Reads are rejected if too much is unread; other requests have had their effect already. */
  #counted(answer: Answer): Answer {
    const unsent = this.#client?.unsent;
    if (unsent === undefined) return answer;
    const { length } = answer.body;
    if (unsent.take(length)) this.onClose(() => unsent.give(length));
    else if (this.method === 'GET') return refusal();
    return answer;
  }

  /** Errors are swallowed: the handler has finished, and other requests waiting for the same audit record must not fail. */
  #respondLater(answer: Answer): void {
    try {
      this.respond(answer);
    } catch {
      this.abandon();
    }
  }

  /** Resolves when a part of a long response may be written. */
  writingTurn(): Promise<void> {
    return this.#client?.turn() ?? nextTurn();
  }

  abstract readonly closed: boolean;

  abstract readonly method: string;

  abstract readonly url: string;

  abstract readonly headers: { readonly authorization?: string | undefined };

  abstract onClose(listener: () => void): void;

  /** Sends the response. The client may have disconnected meanwhile. */
  protected abstract respond(answer: Answer): void;

  abstract abandon(): void;

  protected async receiving(stream: IncomingMessage | ServerHttp2Stream, declared: string | undefined, limit: number): Promise<Buffer> {
    if (declared !== undefined && Number(declared) > limit) throw tooLarge(limit);
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const onData = Number(declared) > longBody ? () => this.#afterRead() : undefined;
    collect(stream, { limit, account: this.bodyBytes, onData }, { resolve, reject });
    this.#refuseBody = reject;
    try {
      this.received = await promise;
    } finally {
      this.#refuseBody = undefined;
    }
    const wait = this.afterBody?.();
    if (wait !== undefined) await wait;
    return this.received;
  }

  /** Whether an awaited body, or `more` data that the client has to send, is overdue. Rejects an overdue body. */
  protected isOverdue(clock: number, limit: number, more = false): boolean {
    if (this.#refuseBody === undefined && !more) {
      this.#awaitedSince = undefined;
      return false;
    }
    this.#awaitedSince ??= clock;
    if (clock - this.#awaitedSince < limit) return false;
    this.#awaitedSince = clock;
    this.#refuseBody?.(status.timeout('the body of the request did not arrive in time', 1));
    return true;
  }
}

/** `/clusters/<workspace>`; empty in the root workspace. */
function workspacePart(url: string): string {
  if (!url.startsWith(workspacePrefix)) return '';
  const end = url.indexOf('/', workspacePrefix.length);
  return end < 0 ? url : url.slice(0, end);
}

const workspacePrefix = '/clusters/';

/** Collects a body from the readable side of either protocol. */
function collect(
  stream: IncomingMessage | ServerHttp2Stream,
  {
    limit,
    account,
    onData,
  }: { readonly limit: number; readonly account: ByteAccount | undefined; readonly onData: (() => void) | undefined },
  { resolve, reject }: { resolve: (body: Buffer) => void; reject: (error: Error) => void },
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const refuse = (error: Error): void => {
    chunks.length = 0;
    stream.removeAllListeners('data');
    stream.resume();
    reject(error);
  };
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > limit) return refuse(tooLarge(limit));
    if (account?.take(chunk.length) === false)
      return refuse(status.tooManyRequests('too much data is being received from you, please try again later', 1));
    chunks.push(chunk);
    onData?.();
  });
  stream.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)));
  stream.on('error', (error) => reject(status.badRequest(`the body of the request could not be read: ${error.message}`)));
  stream.on('aborted', () => reject(status.badRequest('the body of the request ended before it was complete')));
}
