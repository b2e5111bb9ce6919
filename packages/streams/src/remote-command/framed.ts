import { Duplex } from 'node:stream';
import { mostWaiting, TurnTaker } from '../turns.ts';
import { type ChannelMessage, longestMessage, waitingMessages } from './channels.ts';

const headerLength = 5;

export class FrameError extends Error {
  override readonly name = 'FrameError';
}

export function encodeFrame({ channel, payload }: ChannelMessage): Buffer {
  const frame = Buffer.allocUnsafe(headerLength + payload.length);
  frame[0] = channel;
  frame.writeUInt32BE(payload.length, 1);
  payload.copy(frame, headerLength);
  return frame;
}

/** Splits bytes into frames. */
export class FrameDecoder {
  #parts: Buffer[] = [];
  #length = 0;
  /** How many bytes the next step needs: a header, or a header with its payload. */
  #needed = headerLength;

  /** Whether bytes of an incomplete frame are left. */
  get isPartial(): boolean {
    return this.#length > 0;
  }

  /** Throws a FrameError for a frame that is too long. */
  *read(chunk: Buffer): Generator<ChannelMessage> {
    this.#parts.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#needed) return;
    let bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts);
    this.#needed = neededFor(bytes);
    while (bytes.length >= this.#needed) {
      yield { channel: bytes[0]!, payload: bytes.subarray(headerLength, this.#needed) };
      bytes = bytes.subarray(this.#needed);
      this.#needed = neededFor(bytes);
    }
    this.#parts = bytes.length === 0 ? [] : [bytes];
    this.#length = bytes.length;
  }
}

function neededFor(bytes: Buffer): number {
  if (bytes.length < headerLength) return headerLength;
  const length = bytes.readUInt32BE(1);
  if (length > longestMessage) throw new FrameError(`expected a frame of at most ${longestMessage} bytes, found ${length}`);
  return headerLength + length;
}

/** The channels of a command as frames on one byte stream: a byte for the channel, four for the length, and the payload. */
export class FramedChannels extends Duplex {
  readonly #stream: Duplex;

  constructor(stream: Duplex) {
    super({ objectMode: true, highWaterMark: waitingMessages });
    this.#stream = stream;
    const decoder = new FrameDecoder();
    const turns = new TurnTaker<Buffer>((chunks) => this.#receive(decoder, chunks));
    stream.on('data', (chunk: Buffer) => {
      turns.add(chunk, chunk.length);
      if (turns.bytes >= mostWaiting) stream.pause();
    });
    stream.on('end', () => {
      turns.flush();
      if (decoder.isPartial) this.destroy(new FrameError('the stream ended within a frame'));
      else this.push(null);
    });
    stream.on('error', (error: Error) => this.destroy(error));
    stream.on('close', () => {
      turns.flush();
      // A slow reader still gets the messages before the end, such as the exit code.
      if (stream.readableEnded && !this.readableEnded) this.once('end', () => this.destroy());
      else this.destroy();
    });
  }

  #receive(decoder: FrameDecoder, chunks: readonly Buffer[]): void {
    if (this.destroyed) return;
    let hasRoom = true;
    try {
      for (const chunk of chunks) for (const message of decoder.read(chunk)) hasRoom = this.push(message);
    } catch (error) {
      this.destroy(error as Error);
    }
    if (!hasRoom) this.#stream.pause();
    else if (this.#stream.isPaused()) this.#stream.resume();
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(message: ChannelMessage, _encoding: string, done: () => void): void {
    if (this.#stream.write(encodeFrame(message))) done();
    else this.#stream.once('drain', done);
  }

  override _final(done: () => void): void {
    // Only then may the stream be destroyed.
    this.#stream.end(() => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#stream.destroy();
    done(error);
  }
}
