import { Duplex } from 'node:stream';
import type { Headers } from './header-block.ts';
import { StreamReset } from './protocol-error.ts';

/** The part of a connection that a stream needs. */
export interface StreamCarrier {
  /** Calls back when more may be sent. */
  sendData(streamId: number, part: Buffer, done: () => void): void;
  sendFin(streamId: number): void;
  sendReset(streamId: number, status: number): void;
  /** The reader has taken these bytes. */
  consumed(stream: SpdyStream, bytes: number): void;
  ended(stream: SpdyStream): void;
}

/** How much a stream buffers in each direction before its writer has to wait. */
export const streamBuffer = 64 << 10;
/** Data frames are at most this long, so that streams take turns. */
const longestPart = 32 << 10;
const cancel = 5;

/** One stream of a connection: a duplex whose two directions end independently. */
export class SpdyStream extends Duplex {
  readonly id: number;
  /** The headers with which it was opened. */
  readonly headers: Headers;
  readonly #carrier: StreamCarrier;
  /** How much may be sent; undefined if the peer does not use windows. */
  #sendWindow: number | undefined;
  #waiting: (() => void) | undefined;
  #unread = 0;
  /** Bytes that were read and not yet granted to the peer again. */
  credit = 0;
  #isLocalEnded = false;
  #isRemoteEnded = false;
  #isReset = false;

  constructor(carrier: StreamCarrier, options: { id: number; headers: Headers; sendWindow: number | undefined }) {
    super({ highWaterMark: streamBuffer });
    this.id = options.id;
    this.headers = options.headers;
    this.#carrier = carrier;
    this.#sendWindow = options.sendWindow;
  }

  /** Bytes that arrived and have not been read. */
  get unread(): number {
    return this.#unread;
  }

  /** Whether everything has arrived. */
  get isComplete(): boolean {
    return this.#isRemoteEnded;
  }

  /** For the connection: data arrived. */
  receive(part: Buffer): void {
    if (this.#isRemoteEnded || this.destroyed || part.length === 0) return;
    this.#unread += part.length;
    this.push(part);
  }

  /** For the connection: the peer sends no more. */
  receiveFin(): void {
    if (this.#isRemoteEnded || this.destroyed) return;
    this.#isRemoteEnded = true;
    this.push(null);
  }

  /** For the connection: it has ended. Bytes that arrived before can still be read. */
  detach(): void {
    this.#isReset = true;
    this.receiveFin();
    this.#proceed();
  }

  /** For the connection: the peer reset the stream. */
  receiveReset(status: number): void {
    this.#isReset = true;
    const isOver = this.#isRemoteEnded && this.#isLocalEnded;
    this.destroy(isOver || status === cancel ? undefined : new StreamReset(status));
  }

  /** For the connection: the peer changed the window. */
  widen(delta: number): void {
    if (this.#sendWindow === undefined) return;
    this.#sendWindow += delta;
    if (this.#sendWindow > 0) this.#proceed();
  }

  #proceed(): void {
    const next = this.#waiting;
    this.#waiting = undefined;
    next?.();
  }

  /** Every reader takes bytes here, so the bytes that were taken can be counted. */
  override read(size?: number): unknown {
    const taken: unknown = super.read(size);
    const count = this.#unread - this.readableLength;
    if (count > 0) {
      this.#unread -= count;
      this.#carrier.consumed(this, count);
    }
    return taken;
  }

  override _read(): void {
    // Data comes when the peer sends it.
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.#send(chunk, () => done());
  }

  #send(chunk: Buffer, done: () => void): void {
    if (this.#isReset || this.destroyed) return done();
    const allowed = Math.min(longestPart, this.#sendWindow ?? longestPart);
    if (allowed <= 0) {
      this.#waiting = () => this.#send(chunk, done);
      return;
    }
    const part = chunk.subarray(0, allowed);
    if (this.#sendWindow !== undefined) this.#sendWindow -= part.length;
    this.#carrier.sendData(this.id, part, () => {
      if (part.length === chunk.length) done();
      else this.#send(chunk.subarray(part.length), done);
    });
  }

  override _final(done: () => void): void {
    this.#isLocalEnded = true;
    if (!this.#isReset) this.#carrier.sendFin(this.id);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const isOver = this.#isLocalEnded && this.#isRemoteEnded;
    if (!isOver && !this.#isReset) this.#carrier.sendReset(this.id, cancel);
    this.#isReset = true;
    this.#proceed();
    this.#carrier.ended(this);
    done(error);
  }
}
