import type { Duplex } from 'node:stream';
import { mostWaiting, TurnTaker } from '../turns.ts';
import { FrameReader } from './frame-reader.ts';
import { type ControlFrame, encodeControl, encodeDataHeader, goAwayStatus, initialWindowSetting, resetStatus } from './frames.ts';
import { HeaderPacker, type Headers, HeaderUnpacker } from './header-block.ts';
import { SpdyProtocolError } from './protocol-error.ts';
import { SpdyStream, type StreamCarrier, streamBuffer } from './stream.ts';

export interface SpdyLimits {
  /** Bytes of a header block, compressed or not. */
  readonly headers: number;
  /** Streams that the peer may have open. */
  readonly streams: number;
}

export interface SpdyOptions {
  readonly role: 'client' | 'server';
  /** The peer opened a stream. Without it, the peer may open none. Throwing refuses the stream. */
  readonly onStream?: (stream: SpdyStream) => void;
  /**
   * Tells the peer to send no more on a stream than its reader takes. Programs built on Kubernetes' SPDY neither obey windows nor announce
   * any. For them the connection as a whole is not read while one of its streams has a full buffer.
   */
  readonly windows?: boolean;
  readonly limits?: Partial<SpdyLimits>;
}

const defaultLimits: SpdyLimits = { headers: 64 << 10, streams: 256 };
const defaultWindow = 64 << 10;
const largestWindow = 0x7fffffff;
/** How long a peer may take to close its side, in milliseconds. */
const lingering = 5_000;
/** Replies to a peer that sends but does not read wait in memory only up to this many bytes. */
const mostReplies = 256 << 10;

/** One end of a SPDY/3.1 connection over a duplex, which belongs to the connection from then on. */
export class SpdyConnection implements StreamCarrier {
  readonly #transport: Duplex;
  readonly #options: SpdyOptions;
  readonly #limits: SpdyLimits;
  readonly #reader: FrameReader;
  readonly #packer = new HeaderPacker();
  readonly #unpacker: HeaderUnpacker;
  readonly #streams = new Map<number, SpdyStream>();
  /** Streams whose buffers are full. While there are any, the transport is not read. */
  readonly #full = new Set<SpdyStream>();
  #nextId: number;
  #lastPeerId = 0;
  #peerStreams = 0;
  /** The initial window that the peer announced; undefined if it uses no windows. */
  #peerWindow: number | undefined;
  #drained: (() => void)[] = [];
  #isReplying = false;
  readonly #turns = new TurnTaker<Buffer>((chunks) => {
    for (const chunk of chunks) this.#read(chunk);
    if (this.#isResting) {
      this.#isResting = false;
      this.#resume();
    }
  });
  /** Not read, because enough waits for its turn. */
  #isResting = false;
  #isGoing = false;
  #isClosed = false;
  readonly #closed = Promise.withResolvers<Error | undefined>();

  constructor(transport: Duplex, options: SpdyOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#unpacker = new HeaderUnpacker(this.#limits.headers);
    this.#nextId = options.role === 'client' ? 1 : 2;
    this.#reader = new FrameReader(
      { control: (frame) => this.#control(frame), data: (id, part, fin) => this.#data(id, part, fin) },
      this.#limits.headers + 16,
    );
    transport.on('data', (chunk: Buffer) => this.#receive(chunk));
    transport.on('drain', () => this.#drain());
    transport.on('end', () => this.#over(undefined));
    transport.on('error', (error: Error) => this.#over(error));
    transport.on('close', () => this.#over(undefined));
    if (options.windows === true)
      this.#write(encodeControl({ type: 'settings', values: new Map([[initialWindowSetting, defaultWindow]]) }));
  }

  /** Resolves when the connection is over: with an error if the peer or the network failed. */
  get closed(): Promise<Error | undefined> {
    return this.#closed.promise;
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  open(headers: Headers): SpdyStream {
    if (this.#isClosed || this.#isGoing) throw new Error('the connection is closed');
    const id = this.#nextId;
    this.#nextId += 2;
    const block = this.#packer.pack(headers);
    this.#write(encodeControl({ type: 'synStream', streamId: id, associatedTo: 0, priority: 0, fin: false, unidirectional: false, block }));
    return this.#add(id, headers);
  }

  /** Tells the peer that no more streams will be accepted, lets buffered bytes go out, and ends the connection. */
  close(): void {
    if (this.#isClosed) return;
    this.#goAway(goAwayStatus.ok);
    this.#linger();
    this.#end(undefined);
  }

  /**
   * Lets the last bytes go out, and drops those that still arrive until the peer closes too: the network would otherwise answer them with a
   * reset, which discards bytes that the peer has not read.
   */
  #linger(): void {
    const transport = this.#transport;
    transport.end();
    const timer = setTimeout(() => transport.destroy(), lingering).unref();
    transport.on('close', () => clearTimeout(timer));
    transport.on('end', () => transport.destroy());
  }

  /** Ends the connection and everything on it at once, except for bytes that were sent before `close`. */
  destroy(): void {
    const streams = [...this.#streams.values()];
    this.#end(undefined);
    for (const stream of streams) stream.destroy();
    // After `close`, the last bytes may still be on their way.
    if (!this.#transport.writableEnded) this.#transport.destroy();
  }

  sendData(streamId: number, part: Buffer, done: () => void): void {
    if (this.#isClosed) return done();
    const transport = this.#transport;
    transport.cork();
    transport.write(encodeDataHeader(streamId, part.length, false));
    const hasRoom = transport.write(part);
    transport.uncork();
    if (hasRoom) done();
    else this.#drained.push(done);
  }

  sendFin(streamId: number): void {
    this.#write(encodeDataHeader(streamId, 0, true));
  }

  sendReset(streamId: number, status: number): void {
    this.#write(encodeControl({ type: 'reset', streamId, status }));
  }

  consumed(stream: SpdyStream, bytes: number): void {
    stream.credit += bytes;
    if (this.#options.windows === true && stream.credit >= defaultWindow / 2 && !stream.destroyed) {
      this.#write(encodeControl({ type: 'windowUpdate', streamId: stream.id, delta: stream.credit }));
      stream.credit = 0;
    }
    if (stream.unread < streamBuffer && this.#full.delete(stream)) this.#resume();
  }

  ended(stream: SpdyStream): void {
    if (!this.#streams.delete(stream.id)) return;
    if (this.#isPeers(stream.id)) this.#peerStreams--;
    if (this.#full.delete(stream)) this.#resume();
  }

  #receive(chunk: Buffer): void {
    if (this.#isClosed) return;
    this.#turns.add(chunk, chunk.length);
    if (this.#turns.bytes < mostWaiting) return;
    this.#isResting = true;
    this.#transport.pause();
  }

  /** Nothing more arrives. Everything that arrived before is read first. */
  #over(error: Error | undefined): void {
    this.#turns.flush();
    this.#end(error);
  }

  #read(chunk: Buffer): void {
    if (this.#isClosed) return;
    try {
      this.#reader.read(chunk);
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
    if (this.#transport.writableLength > mostReplies && this.#isReplying) this.#transport.pause();
    this.#isReplying = false;
  }

  #data(streamId: number, part: Buffer, fin: boolean): void {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) {
      // Data may still arrive for a stream that was reset here.
      const isKnown = this.#isPeers(streamId) ? streamId <= this.#lastPeerId : streamId < this.#nextId;
      if (streamId === 0 || !isKnown) throw new SpdyProtocolError(`data for stream ${streamId}, which was never opened`);
      return;
    }
    stream.receive(part);
    if (this.#options.windows === true && stream.unread > defaultWindow) {
      this.sendReset(streamId, resetStatus.flowControlError);
      stream.receiveReset(resetStatus.flowControlError);
      return;
    }
    if (fin) stream.receiveFin();
    if (stream.unread < streamBuffer || stream.destroyed || this.#options.windows === true) return;
    this.#full.add(stream);
    this.#transport.pause();
  }

  #control(frame: ControlFrame): void {
    switch (frame.type) {
      case 'synStream':
        return this.#accept(frame.streamId, this.#unpacker.unpack(frame.block), frame);
      case 'synReply':
      case 'headers':
        // The headers themselves have no meaning here, but the next block refers to them.
        this.#unpacker.unpack(frame.block);
        if (frame.fin) this.#streams.get(frame.streamId)?.receiveFin();
        return;
      case 'reset':
        return this.#streams.get(frame.streamId)?.receiveReset(frame.status);
      case 'settings':
        return this.#settings(frame.values);
      case 'ping':
        // The parity tells who sent it first.
        if ((frame.id % 2 === 1) === (this.#options.role === 'server')) this.#reply(frame);
        return;
      case 'goAway':
        this.#isGoing = true;
        return;
      case 'windowUpdate':
        return this.#streams.get(frame.streamId)?.widen(frame.delta);
    }
  }

  #accept(id: number, headers: Headers, { fin, unidirectional }: { fin: boolean; unidirectional: boolean }): void {
    if (!this.#isPeers(id) || id <= this.#lastPeerId)
      throw new SpdyProtocolError(`stream ${id} cannot be opened after stream ${this.#lastPeerId}`);
    this.#lastPeerId = id;
    const { onStream } = this.#options;
    if (onStream === undefined || unidirectional || this.#isGoing || this.#peerStreams >= this.#limits.streams)
      return this.#reply({ type: 'reset', streamId: id, status: resetStatus.refusedStream });
    this.#peerStreams++;
    const stream = this.#add(id, headers);
    this.#reply({ type: 'synReply', streamId: id, fin: false, block: this.#packer.pack({}) });
    if (fin) stream.receiveFin();
    try {
      onStream(stream);
    } catch {
      stream.receiveReset(resetStatus.cancel);
      this.#reply({ type: 'reset', streamId: id, status: resetStatus.refusedStream });
    }
  }

  #settings(values: ReadonlyMap<number, number>): void {
    const window = values.get(initialWindowSetting);
    if (window === undefined) return;
    if (window > largestWindow) throw new SpdyProtocolError(`the initial window is ${window}, more than ${largestWindow}`);
    // Streams opened before the peer announced windows have none.
    const before = this.#peerWindow;
    this.#peerWindow = window;
    if (before !== undefined) for (const stream of this.#streams.values()) stream.widen(window - before);
  }

  #add(id: number, headers: Headers): SpdyStream {
    const stream = new SpdyStream(this, { id, headers, sendWindow: this.#peerWindow });
    // A stream that is reset before somebody listens must not end the process.
    stream.on('error', () => {});
    this.#streams.set(id, stream);
    return stream;
  }

  #isPeers(id: number): boolean {
    return (id % 2 === 1) === (this.#options.role === 'server');
  }

  #reply(frame: ControlFrame): void {
    this.#isReplying = true;
    this.#write(encodeControl(frame));
  }

  #write(bytes: Buffer): void {
    if (!this.#isClosed && this.#transport.writable) this.#transport.write(bytes);
  }

  #drain(): void {
    const waiting = this.#drained;
    this.#drained = [];
    for (const next of waiting) next();
    this.#resume();
  }

  #resume(): void {
    if (this.#full.size === 0 && !this.#isResting && !this.#isClosed && this.#transport.writableLength <= mostReplies)
      this.#transport.resume();
  }

  #goAway(status: number): void {
    this.#isGoing = true;
    this.#write(encodeControl({ type: 'goAway', lastStreamId: this.#lastPeerId, status }));
  }

  #fail(error: Error): void {
    this.#goAway(goAwayStatus.protocolError);
    this.#linger();
    this.#end(error);
  }

  #end(error: Error | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#turns.clear();
    const waiting = this.#drained;
    this.#drained = [];
    for (const next of waiting) next();
    for (const stream of [...this.#streams.values()]) {
      if (error === undefined || stream.isComplete) stream.detach();
      else stream.receiveReset(resetStatus.protocolError);
    }
    this.#streams.clear();
    this.#full.clear();
    // Whatever still arrives is dropped, so that the end of the transport is seen.
    this.#transport.resume();
    this.#closed.resolve(error);
  }
}
