import { type ControlFrame, decodeControl, decodeHeader, type FrameHeader, finFlag, frameHeaderLength } from './frames.ts';
import { SpdyProtocolError } from './protocol-error.ts';

export interface FrameHandlers {
  control(frame: ControlFrame): void;
  /** A part of a data frame; `fin` only with the last part of the last frame of a stream. */
  data(streamId: number, part: Buffer, fin: boolean): void;
}

const nothing = Buffer.alloc(0);

/** Splits bytes into frames. Data is passed on as it arrives; only control frames are collected, up to a limit. */
export class FrameReader {
  readonly #handlers: FrameHandlers;
  readonly #longestControl: number;
  /** The start of a frame header, or of a control frame, in a buffer for the whole. */
  #partial: Buffer | undefined;
  #filled = 0;
  #header: FrameHeader | undefined;
  /** How much of the current frame is still to come. */
  #left = frameHeaderLength;

  constructor(handlers: FrameHandlers, longestControl: number) {
    this.#handlers = handlers;
    this.#longestControl = longestControl;
  }

  /** Throws a SpdyProtocolError for bytes that are not SPDY/3.1; nothing may be read after that. */
  read(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      const part = chunk.subarray(at, at + this.#left);
      at += part.length;
      this.#left -= part.length;
      const header = this.#header;
      if (header !== undefined && header.control === undefined) this.#data(header, part);
      else if (this.#left > 0) this.#keep(part);
      else if (header === undefined) this.#begin(decodeHeader(this.#whole(part)));
      else this.#control(header, this.#whole(part));
    }
  }

  #begin(header: FrameHeader): void {
    if (header.control !== undefined && header.length > this.#longestControl)
      throw new SpdyProtocolError(`a control frame has ${header.length} bytes, more than ${this.#longestControl}`);
    this.#header = header;
    this.#left = header.length;
    if (header.length > 0) return;
    if (header.control === undefined) this.#data(header, nothing);
    else this.#control(header, nothing);
  }

  #data(header: FrameHeader, part: Buffer): void {
    const isLast = this.#left === 0;
    if (isLast) this.#next();
    this.#handlers.data(header.streamId, part, isLast && (header.flags & finFlag) !== 0);
  }

  #control(header: FrameHeader, payload: Buffer): void {
    this.#next();
    const frame = decodeControl(header.control!, header.flags, payload);
    if (frame !== undefined) this.#handlers.control(frame);
  }

  #next(): void {
    this.#header = undefined;
    this.#left = frameHeaderLength;
  }

  /** Called after `#left` has been reduced by the part. */
  #keep(part: Buffer): void {
    this.#partial ??= Buffer.allocUnsafe(part.length + this.#left);
    this.#filled += part.copy(this.#partial, this.#filled);
  }

  #whole(part: Buffer): Buffer {
    const whole = this.#partial;
    if (whole === undefined) return part;
    part.copy(whole, this.#filled);
    this.#partial = undefined;
    this.#filled = 0;
    return whole;
  }
}
