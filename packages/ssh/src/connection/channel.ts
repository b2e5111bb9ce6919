import { Duplex, Writable } from 'node:stream';
import { protocolError } from '../error.ts';
import { message } from '../wire/messages.ts';
import { messageOf, type WireWriter } from '../wire/writer.ts';

/** How many bytes a client may send before the reader of a channel has taken some. */
export const ownWindow = 1 << 20;
/** The most bytes of data in one message, in both directions. */
export const largestData = 32 << 10;
/** Bytes that wait in the stream itself. With `adjustAfter` and one message, they must fit into the window. */
const readAhead = 256 << 10;
const adjustAfter = 128 << 10;
const largestWindow = 2 ** 32 - 1;
const standardError = 1;

/** The client's end of a channel, as it was opened. */
export interface RemoteEnd {
  readonly id: number;
  readonly window: number;
  readonly largest: number;
}

/** The connection below a channel. */
export interface ChannelLink {
  readonly isBusy: boolean;
  send(payload: Buffer): void;
}

interface Outgoing {
  readonly bytes: Buffer;
  readonly isError: boolean;
  readonly done: (error?: Error) => void;
}

/** A channel as a stream: reading gives the client's data, writing sends ours. Both respect the windows. Destroying it closes the channel. */
export class Channel extends Duplex {
  /** The second output of a command. */
  readonly errors: Writable;
  readonly #link: ChannelLink;
  readonly #remote: RemoteEnd;
  #remoteWindow: number;
  #received = 0;
  #granted = ownWindow;
  #hasEnded = false;
  #outgoing: Outgoing[] = [];

  constructor(link: ChannelLink, remote: RemoteEnd) {
    // It is closed by its owner: the status of a command follows the end of its output.
    super({ readableHighWaterMark: readAhead, allowHalfOpen: true, autoDestroy: false });
    this.#link = link;
    this.#remote = remote;
    this.#remoteWindow = remote.window;
    this.errors = new Writable({ write: (bytes: Buffer, _encoding, done) => this.#queue({ bytes, isError: true, done }) });
    // Writers learn of the end of a channel by its `close`.
    this.errors.on('error', () => {});
  }

  get remoteId(): number {
    return this.#remote.id;
  }

  /** Data of the client. */
  receive(bytes: Buffer): void {
    if (this.destroyed) return;
    this.#received += bytes.length;
    if (this.#received > this.#granted) throw protocolError('the client sent more than the window of its channel');
    if (this.#hasEnded) throw protocolError('the client sent data after the end of its channel');
    if (bytes.length > 0) this.push(bytes);
  }

  receiveEnd(): void {
    if (this.#hasEnded || this.destroyed) return;
    this.#hasEnded = true;
    this.push(null);
  }

  /** The client takes more. */
  widen(bytes: number): void {
    this.#remoteWindow += bytes;
    if (this.#remoteWindow > largestWindow) throw protocolError('the window of a channel is larger than 2^32 - 1 bytes');
    this.pump();
  }

  /** Sends what the window and the connection allow. */
  pump(): void {
    while (this.#outgoing.length > 0 && this.#remoteWindow > 0 && !this.#link.isBusy) {
      const { bytes, isError, done } = this.#outgoing[0]!;
      const part = bytes.subarray(0, Math.min(this.#remoteWindow, this.#remote.largest, largestData));
      this.#remoteWindow -= part.length;
      const head = this.#message(isError ? message.channelExtendedData : message.channelData);
      this.#link.send((isError ? head.uint32(standardError) : head).string(part).finish());
      if (part.length < bytes.length) this.#outgoing[0] = { bytes: bytes.subarray(part.length), isError, done };
      else {
        this.#outgoing.shift();
        done();
      }
    }
  }

  /** Ends both outputs, then reports the exit code, if there is one, and closes the channel. */
  async finish(code: number | undefined): Promise<void> {
    await new Promise<void>((resolve) => this.errors.end(resolve).once('close', resolve));
    await new Promise<void>((resolve) => this.end(resolve).once('close', resolve));
    if (code !== undefined && !this.destroyed)
      this.#link.send(this.#message(message.channelRequest).string('exit-status').boolean(false).uint32(code).finish());
    this.destroy();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.#queue({ bytes, isError: false, done });
  }

  override _final(done: () => void): void {
    this.#link.send(this.#message(message.channelEof).finish());
    done();
  }

  override _read(): void {
    // The reader takes its part after this call.
    queueMicrotask(() => this.#grant());
  }

  #grant(): void {
    if (this.destroyed || this.#hasEnded) return;
    const taken = this.#received - this.readableLength;
    const room = taken + ownWindow - this.#granted;
    if (room < adjustAfter) return;
    this.#granted += room;
    this.#link.send(this.#message(message.channelWindowAdjust).uint32(room).finish());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    for (const waiting of this.#outgoing.splice(0)) waiting.done(new Error('the channel is closed'));
    this.errors.destroy();
    this.#link.send(this.#message(message.channelClose).finish());
    done(error);
  }

  #message(number: number): WireWriter {
    return messageOf(number).uint32(this.#remote.id);
  }

  #queue(outgoing: Outgoing): void {
    if (this.destroyed) return outgoing.done(new Error('the channel is closed'));
    this.#outgoing.push(outgoing);
    this.pump();
  }
}
