import { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { SpdyConnection } from '../spdy/connection.ts';
import type { SpdyStream } from '../spdy/stream.ts';
import { type ChannelMessage, type CommandOptions, channel, errorText, longestMessage, waitingMessages } from './channels.ts';

/** The protocols of exec and attach over SPDY, best first. They differ in the contents of the error stream and in resizing. */
export const spdyCommandProtocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io'];

const numbers: ReadonlyMap<string, number> = new Map([
  ['stdin', channel.stdin],
  ['stdout', channel.stdout],
  ['stderr', channel.stderr],
  ['error', channel.error],
  ['resize', channel.resize],
]);

export interface SpdyServerOptions extends CommandOptions {
  readonly protocol: string;
  /** How long the client may take to open its streams, in milliseconds. */
  readonly patience?: number;
}

/** The server's end of a command whose client uses SPDY. Each channel is a stream, which the client opens. */
export class SpdyServerChannels extends Duplex {
  readonly #streams = new Map<number, SpdyStream>();
  /** A message that waits for its stream. */
  #waiting: (() => void) | undefined;
  readonly #options: SpdyServerOptions;
  readonly #connection: SpdyConnection;
  readonly #patience: NodeJS.Timeout;
  /** All streams are open, or never will be. */
  readonly #complete = Promise.withResolvers<void>();

  /** `connect` makes the connection with the given handler for its streams. */
  constructor(connect: (onStream: (stream: SpdyStream) => void) => SpdyConnection, options: SpdyServerOptions) {
    super({ objectMode: true, highWaterMark: waitingMessages });
    this.#options = options;
    this.#connection = connect((stream) => this.#opened(stream));
    this.#patience = setTimeout(() => this.destroy(new Error('the client did not open its streams in time')), options.patience ?? 30_000);
    void this.#connection.closed.then((error) => this.destroy(error));
  }

  #opened(stream: SpdyStream): void {
    const number = numbers.get(stream.headers['streamtype'] ?? '');
    if (number === undefined || this.#streams.has(number))
      throw new Error(
        `expected each of stdin, stdout, stderr, error and resize once, found ${JSON.stringify(stream.headers['streamtype'])}`,
      );
    this.#streams.set(number, stream);
    if (number === channel.stdin || number === channel.resize) this.#receive(stream, number);
    else stream.resume();
    if (this.#isComplete) {
      clearTimeout(this.#patience);
      this.#complete.resolve();
    }
    const proceed = this.#waiting;
    this.#waiting = undefined;
    proceed?.();
  }

  get #isComplete(): boolean {
    const { stdin, stdout, stderr, tty } = this.#options;
    const wanted = [stdin && channel.stdin, stdout && channel.stdout, stderr && !tty && channel.stderr, channel.error];
    return wanted.every((number) => number === false || this.#streams.has(number));
  }

  #receive(stream: SpdyStream, number: number): void {
    let lines = '';
    stream.on('data', (payload: Buffer) => {
      if (number === channel.stdin) return this.#push({ channel: number, payload });
      // Sizes follow each other without a border but the end of a JSON object.
      lines += payload.toString();
      if (lines.length > longestMessage) return this.destroy(new Error('a size is too long'));
      for (let end = lines.indexOf('}'); end >= 0; end = lines.indexOf('}')) {
        this.#push({ channel: number, payload: Buffer.from(lines.slice(0, end + 1).trim()) });
        lines = lines.slice(end + 1);
      }
    });
    if (number === channel.stdin) stream.on('end', () => this.#push({ channel: channel.close, payload: Buffer.from([number]) }));
  }

  #push(message: ChannelMessage): void {
    if (this.destroyed || this.push(message)) return;
    for (const number of [channel.stdin, channel.resize]) this.#streams.get(number)?.pause();
  }

  override _read(): void {
    for (const number of [channel.stdin, channel.resize]) this.#streams.get(number)?.resume();
  }

  override _write(message: ChannelMessage, _encoding: string, done: (error?: Error) => void): void {
    if (message.channel === channel.close) {
      this.#streams.get(message.payload[0]!)?.end();
      return done();
    }
    const { protocol } = this.#options;
    const isOld = message.channel === channel.error && !protocol.startsWith('v5') && !protocol.startsWith('v4');
    const payload = isOld ? Buffer.from(errorText(message.payload)) : message.payload;
    const stream = this.#streams.get(message.channel);
    if (stream !== undefined) send(stream, payload, done);
    else if (this.#isComplete) done();
    else this.#waiting = () => this._write(message, _encoding, done);
  }

  override _final(done: () => void): void {
    void this.#finish().then(() => done());
  }

  /** A command may end before its client has opened all streams, which would fail if the connection were gone. */
  async #finish(): Promise<void> {
    await this.#complete.promise;
    await Promise.allSettled([...this.#streams.values()].map((stream) => finished(stream.end(), { readable: false })));
    this.#connection.close();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#patience);
    this.#complete.resolve();
    this.#connection.destroy();
    done(error);
  }
}

function send(stream: SpdyStream, payload: Buffer, done: () => void): void {
  if (payload.length === 0 || stream.destroyed || stream.writableEnded) return done();
  // Also called with an error when the client has closed only this stream; the others go on.
  stream.write(payload, () => done());
}
