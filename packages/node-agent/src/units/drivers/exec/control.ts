import { open } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import { type RoomStreams, UnitProblem } from '../driver.ts';
import { encodePairs, type Pair } from './pairs.ts';

/** Types of frames; the launcher has the same. */
const frames = { request: 0, stdout: 1, stderr: 2, exit: 3, problem: 4, started: 5, stdin: 6, stdinEnd: 7, size: 8 } as const;

/** In bytes: the launcher refuses longer frames. */
const longest = 1 << 16;

/**
 * Connects to a socket in a folder. Paths of sockets have at most 107 bytes, and the folder may be deep, so the way goes through an open
 * folder.
 */
export async function connectIn(folder: string, name: string): Promise<Socket> {
  const handle = await open(folder, 'r');
  try {
    const socket = connect({ path: `/proc/self/fd/${handle.fd}/${name}`, allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.removeAllListeners('error');
    // An error is followed by `close`, where everybody waits.
    socket.on('error', () => {});
    return socket;
  } finally {
    // Nobody waits for it: the socket may close as soon as it is open, and its user must be there to see that.
    void handle.close();
  }
}

export function sendRequest(socket: Socket, pairs: readonly Pair[]): void {
  socket.write(frame(frames.request, encodePairs(pairs)));
}

function frame(type: number, data: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(type);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

export interface SessionOptions {
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** Speaks with the launcher about one command, or about the main program. Resolves once it has started. */
export async function openSession(socket: Socket, request: readonly Pair[], options: SessionOptions): Promise<RoomStreams> {
  const read = (): void => void socket.resume();
  const stdout = new Readable({ read });
  const stderr = options.tty ? undefined : new Readable({ read });
  const started = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<number | undefined>();
  const onFrame = (type: number, data: Buffer): void => {
    if (type === frames.stdout && !stdout.push(data)) socket.pause();
    else if (type === frames.stderr && !(stderr ?? stdout).push(data)) socket.pause();
    else if (type === frames.exit) exited.resolve(Number(data.toString()));
    else if (type === frames.started) started.resolve();
    else if (type === frames.problem) started.reject(problemOf(data.toString()));
  };
  readFrames(socket, onFrame);
  socket.on('end', () => socket.end());
  socket.on('close', () => {
    started.reject(new Error('the unit ended'));
    exited.resolve(undefined);
    stdout.push(null);
    stderr?.push(null);
  });
  sendRequest(socket, request);
  await started.promise;
  return {
    stdout,
    ...(stderr === undefined ? {} : { stderr }),
    ...(options.stdin ? { stdin: inputOf(socket) } : {}),
    exited: exited.promise,
    ...(options.tty
      ? { resize: ({ columns, rows }) => void socket.write(frame(frames.size, Buffer.from(`${Math.trunc(columns)} ${Math.trunc(rows)}`))) }
      : {}),
    close: () => void socket.destroy(),
  };
}

function readFrames(socket: Socket, onFrame: (type: number, data: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= 5) {
      const end = 5 + rest.readUInt32BE(1);
      if (rest.length < end) break;
      onFrame(rest[0]!, rest.subarray(5, end));
      rest = rest.subarray(end);
    }
  });
}

function inputOf(socket: Socket): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      let left = chunk;
      for (; left.length > longest; left = left.subarray(longest)) socket.write(frame(frames.stdin, left.subarray(0, longest)));
      socket.write(frame(frames.stdin, left), (error) => done(error ?? null));
    },
    final: (done) => {
      if (!socket.destroyed) socket.write(frame(frames.stdinEnd, Buffer.alloc(0)));
      done();
    },
  });
}

function problemOf(text: string): UnitProblem {
  const [step, , message] = text.split('\0');
  return step?.startsWith('cannot')
    ? new UnitProblem('BadCommand', message!, { isFinal: true })
    : new UnitProblem('DriverUnavailable', message ?? text);
}

/** A connection to a port inside the unit. */
export async function openPort(folder: string, port: number): Promise<Socket> {
  const socket = await connectIn(folder, 'ports');
  socket.write(`${port}\n`);
  let head: Buffer = Buffer.alloc(0);
  return new Promise<Socket>((resolve, reject) => {
    const finish = (error?: Error): void => {
      socket.off('readable', onReadable).off('close', onClose);
      if (error === undefined) return resolve(socket);
      socket.destroy();
      reject(error);
    };
    const refused = (): void => finish(Object.assign(new Error(`nothing listens on port ${port} in the unit`), { code: 'ECONNREFUSED' }));
    const onClose = refused;
    const onReadable = (): void => {
      for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
        head = Buffer.concat([head, chunk]);
        const end = head.indexOf('\n');
        if (end < 0) continue;
        if (head.subarray(0, end).toString() !== 'ok') return refused();
        socket.unshift(head.subarray(end + 1));
        return finish();
      }
    };
    socket.on('readable', onReadable).once('close', onClose);
  });
}
