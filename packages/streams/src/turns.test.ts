import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { SpdyConnection } from './spdy/connection.ts';
import { encodeDataHeader } from './spdy/frames.ts';
import { bytesPerTurn, TurnTaker, takeTurns, workPerMessage, workPerTurn } from './turns.ts';

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

describe('all streams together', () => {
  const perTurn = workPerTurn / workPerMessage;

  test('leave each turn to others after a share of it, and go on in the order of arrival', async () => {
    const handled: number[] = [];
    const streams = Array.from(
      { length: 300 },
      (_, index) => new TurnTaker<number>((messages) => handled.push(...messages.map(() => index))),
    );
    await nextTurn();
    for (const stream of streams) stream.add(0, 1);
    const counts = [handled.length];
    while (handled.length < streams.length) {
      const before = handled.length;
      await nextTurn();
      counts.push(handled.length - before);
    }
    expect(Math.max(...counts)).toBeLessThanOrEqual(perTurn);
    expect(counts[0]).toBe(perTurn);
    expect(handled).toEqual(streams.map((_, index) => index));
  });

  test('handle messages of one stream that have waited at once, in order', async () => {
    const batches: number[][] = [];
    const other = new TurnTaker<number>(() => {});
    const stream = new TurnTaker<number>((messages) => batches.push([...messages]));
    await nextTurn();
    other.add(0, workPerTurn);
    for (const message of [1, 2, 3]) stream.add(message, 10);
    expect([batches, stream.bytes]).toEqual([[], 30]);
    await nextTurn();
    await nextTurn();
    expect([batches, stream.bytes]).toEqual([[[1, 2, 3]], 0]);
  });

  test('do not wait for a turn at their end', async () => {
    const handled: string[] = [];
    const other = new TurnTaker<string>(() => {});
    const ended = new TurnTaker<string>((messages) => handled.push(...messages));
    const cut = new TurnTaker<string>((messages) => handled.push(...messages));
    await nextTurn();
    other.add('', workPerTurn);
    ended.add('last words', 1);
    cut.add('never seen', 1);
    ended.flush();
    cut.clear();
    expect(handled).toEqual(['last words']);
    await nextTurn();
    await nextTurn();
    expect(handled).toEqual(['last words']);
  });

  test('go on after one of them fails', async () => {
    const handled: string[] = [];
    const failed = once(process, 'uncaughtException');
    const other = new TurnTaker<string>(() => {});
    const broken = new TurnTaker<string>(() => {
      throw new Error('broken');
    });
    const stream = new TurnTaker<string>((messages) => handled.push(...messages));
    await nextTurn();
    other.add('', workPerTurn);
    broken.add('', 1);
    stream.add('after it', 1);
    await failed;
    await nextTurn();
    await nextTurn();
    expect(handled).toEqual(['after it']);
  });
});
