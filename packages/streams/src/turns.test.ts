import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { SpdyConnection } from './spdy/connection.ts';
import { encodeDataHeader } from './spdy/frames.ts';
import { bytesPerTurn, takeTurns } from './turns.ts';

const opened: Socket[] = [];
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});

/** A connection whose peer has sent more than one turn may handle. */
async function filled(bytes: Buffer): Promise<Socket> {
  const server = createServer((peer) => {
    opened.push(peer);
    peer.on('error', () => {});
    peer.write(bytes);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as { port: number };
  const socket = connect(port, '127.0.0.1').pause();
  opened.push(socket);
  await once(socket, 'connect');
  // The network's buffers fill up meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 100));
  server.close();
  return socket;
}

/** The most bytes that were handled within one turn of the event loop. */
async function mostPerTurn(
  socket: Socket,
  { total, count }: { total: number; count: (handle: (bytes: number) => void) => void },
): Promise<number> {
  let [most, inTurn, received] = [0, 0, 0];
  const done = Promise.withResolvers<void>();
  const look = (): void => {
    most = Math.max(most, inTurn);
    inTurn = 0;
    if (received < total) setImmediate(look);
    else done.resolve();
  };
  count((bytes) => {
    inTurn += bytes;
    received += bytes;
  });
  setImmediate(look);
  socket.resume();
  socket.on('close', () => done.reject(new Error('closed')));
  await done.promise;
  return most;
}

const size = 4 << 20;
/** One read of the network comes on top. */
const allowed = bytesPerTurn + (128 << 10);

test('a stream that always has more leaves a turn to others', async () => {
  const socket = await filled(Buffer.alloc(size));
  const most = await mostPerTurn(socket, {
    total: size,
    count: (handle) => {
      socket.on('data', (chunk: Buffer) => handle(chunk.length));
      takeTurns(socket);
    },
  });
  expect(most).toBeLessThanOrEqual(allowed);
});

test('a SPDY connection does too', async () => {
  const part = Buffer.alloc(32 << 10);
  const frame = Buffer.concat([encodeDataHeader(1, part.length, false), part]);
  const socket = await filled(Buffer.concat(Array.from({ length: size / part.length }, () => frame)));
  const connection = new SpdyConnection(socket, { role: 'client' });
  const stream = connection.open({});
  const most = await mostPerTurn(socket, { total: size, count: (handle) => stream.on('data', (chunk: Buffer) => handle(chunk.length)) });
  expect(most).toBeLessThanOrEqual(allowed);
});
