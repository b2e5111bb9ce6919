import { SpdyProtocolError } from './protocol-error.ts';

const version = 3;
const control = 0x80000000;
const idMask = 0x7fffffff;
export const finFlag = 1;
const unidirectionalFlag = 2;
export const frameHeaderLength = 8;
export const longestFrame = 0xffffff;

const types = { synStream: 1, synReply: 2, reset: 3, settings: 4, ping: 6, goAway: 7, headers: 8, windowUpdate: 9 } as const;

export const resetStatus = { protocolError: 1, invalidStream: 2, refusedStream: 3, cancel: 5, flowControlError: 7 } as const;
export const goAwayStatus = { ok: 0, protocolError: 1 } as const;
export const initialWindowSetting = 7;

/** Control frames. A block holds compressed headers. */
export type ControlFrame =
  | {
      readonly type: 'synStream';
      readonly streamId: number;
      readonly associatedTo: number;
      readonly priority: number;
      readonly fin: boolean;
      readonly unidirectional: boolean;
      readonly block: Buffer;
    }
  | { readonly type: 'synReply' | 'headers'; readonly streamId: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly type: 'reset'; readonly streamId: number; readonly status: number }
  | { readonly type: 'settings'; readonly values: ReadonlyMap<number, number> }
  | { readonly type: 'ping'; readonly id: number }
  | { readonly type: 'goAway'; readonly lastStreamId: number; readonly status: number }
  | { readonly type: 'windowUpdate'; readonly streamId: number; readonly delta: number };

export interface FrameHeader {
  /** The type of a control frame; undefined for data. */
  readonly control: number | undefined;
  /** The stream of a data frame. */
  readonly streamId: number;
  readonly flags: number;
  readonly length: number;
}

export function decodeHeader(bytes: Buffer): FrameHeader {
  const first = bytes.readUInt32BE();
  const second = bytes.readUInt32BE(4);
  const flags = second >>> 24;
  const length = second & longestFrame;
  if (first < control) return { control: undefined, streamId: first, flags, length };
  const spoken = (first >>> 16) & 0x7fff;
  if (spoken !== version) throw new SpdyProtocolError(`expected a frame of SPDY version ${version}, found version ${spoken}`);
  return { control: first & 0xffff, streamId: 0, flags, length };
}

/** Undefined for types that SPDY/3.1 does not define, which are to be ignored. */
export function decodeControl(type: number, flags: number, payload: Buffer): ControlFrame | undefined {
  const fin = (flags & finFlag) !== 0;
  const id = (at: number): number => payload.readUInt32BE(at) & idMask;
  switch (type) {
    case types.synStream:
      atLeast(payload, 10, 'SYN_STREAM');
      return {
        type: 'synStream',
        streamId: id(0),
        associatedTo: id(4),
        priority: payload[8]! >>> 5,
        fin,
        unidirectional: (flags & unidirectionalFlag) !== 0,
        block: payload.subarray(10),
      };
    case types.synReply:
    case types.headers:
      atLeast(payload, 4, type === types.headers ? 'HEADERS' : 'SYN_REPLY');
      return { type: type === types.headers ? 'headers' : 'synReply', streamId: id(0), fin, block: payload.subarray(4) };
    case types.reset:
      exactly(payload, 8, 'RST_STREAM');
      return { type: 'reset', streamId: id(0), status: payload.readUInt32BE(4) };
    case types.settings:
      return { type: 'settings', values: decodeSettings(payload) };
    case types.ping:
      exactly(payload, 4, 'PING');
      return { type: 'ping', id: payload.readUInt32BE() };
    case types.goAway:
      exactly(payload, 8, 'GOAWAY');
      return { type: 'goAway', lastStreamId: id(0), status: payload.readUInt32BE(4) };
    case types.windowUpdate:
      exactly(payload, 8, 'WINDOW_UPDATE');
      return { type: 'windowUpdate', streamId: id(0), delta: id(4) };
    default:
      return undefined;
  }
}

function decodeSettings(payload: Buffer): ReadonlyMap<number, number> {
  atLeast(payload, 4, 'SETTINGS');
  const count = payload.readUInt32BE();
  exactly(payload, 4 + 8 * count, 'SETTINGS');
  const values = new Map<number, number>();
  for (let at = 4; at < payload.length; at += 8) {
    const setting = payload.readUInt32BE(at) & longestFrame;
    // Of repeated settings, the first one counts.
    if (!values.has(setting)) values.set(setting, payload.readUInt32BE(at + 4));
  }
  return values;
}

function atLeast(payload: Buffer, length: number, name: string): void {
  if (payload.length < length) throw new SpdyProtocolError(`a ${name} frame has ${payload.length} bytes, fewer than ${length}`);
}

function exactly(payload: Buffer, length: number, name: string): void {
  if (payload.length !== length) throw new SpdyProtocolError(`a ${name} frame has ${payload.length} bytes instead of ${length}`);
}

export function encodeControl(frame: ControlFrame): Buffer {
  const { flags, payload } = payloadOf(frame);
  if (payload.length > longestFrame) throw new RangeError(`a frame holds at most ${longestFrame} bytes, found ${payload.length}`);
  const header = Buffer.allocUnsafe(frameHeaderLength);
  header.writeUInt32BE((control | (version << 16) | types[frame.type]) >>> 0);
  header.writeUInt32BE(((flags << 24) | payload.length) >>> 0, 4);
  return Buffer.concat([header, payload]);
}

export function encodeDataHeader(streamId: number, length: number, fin: boolean): Buffer {
  const header = Buffer.allocUnsafe(frameHeaderLength);
  header.writeUInt32BE(streamId & idMask);
  header.writeUInt32BE((((fin ? finFlag : 0) << 24) | length) >>> 0, 4);
  return header;
}

function payloadOf(frame: ControlFrame): { flags: number; payload: Buffer } {
  switch (frame.type) {
    case 'synStream': {
      const start = numbers(frame.streamId, frame.associatedTo);
      const flags = (frame.fin ? finFlag : 0) | (frame.unidirectional ? unidirectionalFlag : 0);
      return { flags, payload: Buffer.concat([start, Buffer.from([frame.priority << 5, 0]), frame.block]) };
    }
    case 'synReply':
    case 'headers':
      return { flags: frame.fin ? finFlag : 0, payload: Buffer.concat([numbers(frame.streamId), frame.block]) };
    case 'reset':
      return { flags: 0, payload: numbers(frame.streamId, frame.status) };
    case 'settings':
      return { flags: 0, payload: numbers(frame.values.size, ...[...frame.values].flat()) };
    case 'ping':
      return { flags: 0, payload: numbers(frame.id) };
    case 'goAway':
      return { flags: 0, payload: numbers(frame.lastStreamId, frame.status) };
    case 'windowUpdate':
      return { flags: 0, payload: numbers(frame.streamId, frame.delta) };
  }
}

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * index);
  return bytes;
}
