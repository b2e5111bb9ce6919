import { Duplex } from 'node:stream';
import type { SpdyConnection } from '../spdy/connection.ts';
import type { SpdyStream } from '../spdy/stream.ts';
import { type ChannelMessage, type CommandOptions, channel, longestMessage, waitingMessages } from './channels.ts';

/** The protocol that every kubelet speaks. */
export const kubeletCommandProtocol = 'v4.channel.k8s.io';

/** The client's end of a command on a kubelet. It opens one stream for each channel. */
export class SpdyClientChannels extends Duplex {
  readonly #connection: SpdyConnection;
  readonly #outputs: SpdyStream[] = [];
  readonly #stdin: SpdyStream | undefined;
  readonly #resize: SpdyStream | undefined;
  #status: Buffer[] = [];
  #statusLength = 0;
  #open = 0;

  constructor(connection: SpdyConnection, { stdin, stdout, stderr, tty }: CommandOptions) {
    super({ objectMode: true, highWaterMark: waitingMessages });
    this.#connection = connection;
    const open = (streamType: string): SpdyStream => {
      const stream = connection.open({ streamtype: streamType });
      return stream;
    };
    this.#receive(open('error'), (chunk) => {
      this.#statusLength += chunk.length;
      if (this.#statusLength > longestMessage) this.destroy(new Error('the status of the command is too long'));
      else this.#status.push(chunk);
    });
    if (stdin) this.#stdin = open('stdin');
    if (stdout) this.#output(open('stdout'), channel.stdout);
    if (stderr && !tty) this.#output(open('stderr'), channel.stderr);
    if (tty) this.#resize = open('resize');
    this.#stdin?.resume();
    this.#resize?.resume();
    void connection.closed.then((error) => {
      // All output comes before the status, so nothing is missing once it is here, however the kubelet ends the connection.
      if (error !== undefined && this.#status.length === 0) this.destroy(error);
    });
  }

  #output(stream: SpdyStream, number: number): void {
    this.#outputs.push(stream);
    this.#receive(stream, (payload) => {
      if (!this.destroyed && !this.push({ channel: number, payload })) for (const output of this.#outputs) output.pause();
    });
  }

  /**
   * Our own direction stays open: a kubelet that closes the connection while bytes of ours are on their way resets it, and a reset discards
   * the status if it has not been read yet.
   */
  #receive(stream: SpdyStream, take: (chunk: Buffer) => void): void {
    this.#open++;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      this.#closed();
    };
    stream.on('data', take);
    stream.on('end', end);
    stream.on('close', end);
  }

  /** The status comes last, when there is no more output. */
  #closed(): void {
    if (--this.#open > 0 || this.destroyed) return;
    if (this.#status.length > 0) this.push({ channel: channel.error, payload: Buffer.concat(this.#status) });
    this.push(null);
  }

  override _read(): void {
    for (const output of this.#outputs) output.resume();
  }

  override _write(message: ChannelMessage, _encoding: string, done: () => void): void {
    const { payload } = message;
    if (message.channel === channel.close && payload[0] === channel.stdin) this.#stdin?.end();
    const stream = message.channel === channel.stdin ? this.#stdin : message.channel === channel.resize ? this.#resize : undefined;
    if (stream === undefined || stream.destroyed || stream.writableEnded || payload.length === 0) return done();
    // Called with an error when the command has closed its input, which does not end its output.
    stream.write(payload, () => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#connection.destroy();
    this.#status = [];
    done(error);
  }
}
