import type { Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import type { RoomStreams } from '../driver.ts';

export interface StreamOptions {
  readonly stdin: boolean;
  readonly tty: boolean;
  /** Whether a client that does not read misses output. Otherwise the sender waits. */
  readonly isLossy: boolean;
  /** The exit code, once the connection has ended. It gets the first output, which is all of it if the command could not start. */
  readonly exitCode: (start: string) => Promise<number | undefined>;
  readonly resize: (size: { readonly columns: number; readonly rows: number }) => Promise<unknown>;
  /** Called once, when the client leaves. */
  readonly onClose?: () => void;
}

/** Bytes in front of every piece of output: the stream, three that are empty, and the length. */
const headSize = 8;
/** In bytes: how far a client may be behind before it misses output. */
const farBehind = 4 << 20;
/** In bytes, of the first output. */
const startSize = 4096;

/** Splits what an engine sends for a command, or for the main program, into its streams. */
export function streamsOf(socket: Socket, options: StreamOptions): RoomStreams {
  const { stdin, tty, isLossy, exitCode, resize } = options;
  const read = (): void => void socket.resume();
  const stdout = new Readable({ read });
  const stderr = tty ? undefined : new Readable({ read });
  const exited = Promise.withResolvers<number | undefined>();
  exited.promise.catch(() => {});
  let hasLeft = false;
  // The size goes another way than the input, and must not come after it.
  let sizing: Promise<unknown> = Promise.resolve();
  let start = '';
  const push = (stream: Readable, data: Buffer): void => {
    if (start.length < startSize) start += data.subarray(0, startSize).toString();
    if (!isLossy && !stream.push(data)) socket.pause();
    else if (isLossy && stream.readableLength < farBehind) stream.push(data);
  };
  if (tty) socket.on('data', (data: Buffer) => push(stdout, data));
  else readFrames(socket, (type, data) => push(type === 2 ? stderr! : stdout, data));
  let isOver = false;
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    stdout.push(null);
    stderr?.push(null);
    socket.destroy();
    if (hasLeft) exited.resolve(undefined);
    else exitCode(start).then(exited.resolve, exited.reject);
  };
  socket.once('end', over).once('close', over);
  return {
    stdout,
    ...(stderr && { stderr }),
    ...(stdin && { stdin: inputOf(socket, () => sizing) }),
    exited: exited.promise,
    ...(tty && {
      resize: (size: Parameters<typeof resize>[0]) => {
        sizing = resize(size).catch(() => {});
      },
    }),
    close: () => {
      if (!isOver && !hasLeft) options.onClose?.();
      hasLeft = true;
      socket.destroy();
    },
  };
}

function readFrames(socket: Socket, onFrame: (type: number, data: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= headSize) {
      const end = headSize + rest.readUInt32BE(4);
      if (rest.length < end) break;
      onFrame(rest[0]!, rest.subarray(headSize, end));
      rest = rest.subarray(end);
    }
  });
}

function inputOf(socket: Socket, before: () => Promise<unknown>): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => void before().then(() => socket.write(chunk, (error) => done(error ?? null))),
    final: (done) => {
      if (!socket.destroyed) socket.end();
      done();
    },
  });
}
