import type { WebSocket } from 'ws';
import { socketOf } from './accept.ts';

const finalBinary = 0x82;
/** Longer lengths follow in two or eight bytes. */
const shortest = 125;
const medium = 0xffff;

/**
 * Sends a byte and a payload as one binary message, and calls back when more may be sent. On a WebSocket that this server has accepted, the payload is not
 * copied: the library takes one buffer for a message, so the byte before the payload would cost a copy of all of it.
 */
export function sendAfterByte(webSocket: WebSocket, first: number, payload: Buffer, done: (error?: Error) => void): void {
  const socket = webSocket.readyState === webSocket.OPEN ? socketOf(webSocket) : undefined;
  if (socket === undefined)
    return webSocket.send(Buffer.concat([Buffer.from([first]), payload]), { binary: true }, (error) => done(error ?? undefined));
  socket.cork();
  socket.write(frameStart(first, payload.length + 1));
  const hasRoom = socket.write(payload);
  socket.uncork();
  // A socket that is destroyed instead ends the WebSocket too.
  if (hasRoom) done();
  else socket.once('drain', done);
}

/** The header of a frame and the first byte of its message. Servers do not mask what they send. */
function frameStart(first: number, length: number): Buffer {
  const size = length <= shortest ? 2 : length <= medium ? 4 : 10;
  const bytes = Buffer.allocUnsafe(size + 1);
  bytes[0] = finalBinary;
  if (size === 2) bytes[1] = length;
  else if (size === 4) {
    bytes[1] = 126;
    bytes.writeUInt16BE(length, 2);
  } else {
    bytes[1] = 127;
    bytes.writeUInt32BE(0, 2);
    bytes.writeUInt32BE(length, 6);
  }
  bytes[size] = first;
  return bytes;
}
