import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SpdyConnection, type SpdyOptions } from './connection.ts';
import { encodeControl, encodeDataHeader } from './frames.ts';
import { HeaderPacker } from './header-block.ts';
import { SpdyProtocolError } from './protocol-error.ts';
import type { SpdyStream } from './stream.ts';

interface Pair {
  readonly client: SpdyConnection;
  readonly server: SpdyConnection;
  readonly accepted: SpdyStream[];
  readonly ends: readonly [Duplex, Duplex];
}

function connect({ server = {}, client = {} }: { server?: Partial<SpdyOptions>; client?: Partial<SpdyOptions> } = {}): Pair {
  const ends = duplexPair();
  const accepted: SpdyStream[] = [];
  const onStream = (stream: SpdyStream): void => void accepted.push(stream);
  return {
    server: new SpdyConnection(ends[0], { role: 'server', onStream, ...server }),
    client: new SpdyConnection(ends[1], { role: 'client', ...client }),
    accepted,
    ends,
  };
}

async function until(condition: () => boolean): Promise<void> {
  for (let left = 10_000; !condition(); left--) {
    if (left === 0) throw new Error('the condition did not become true');
    await setImmediate();
  }
}

describe('a connection', () => {
  test('carries streams with their headers in both directions', async () => {
    const { client, accepted } = connect();
    const stream = client.open({ streamtype: 'data', port: '80' });
    stream.end('question');
    await until(() => accepted.length === 1);
    expect(accepted[0]!.headers).toEqual({ streamtype: 'data', port: '80' });
    expect(await text(accepted[0]!)).toBe('question');
    accepted[0]!.end('answer');
    expect(await text(stream)).toBe('answer');
    await until(() => client.openStreams === 0);
  });

  test.each([[false], [true]])('carries much data on several streams at once (windows: %s)', async (windows) => {
    const received: Promise<Buffer[]>[] = [];
    const onStream = (stream: SpdyStream): void => void received.push(stream.toArray());
    const { client } = connect({ server: { windows, onStream }, client: { windows } });
    await setImmediate();
    const sent = [0, 1, 2].map(() => randomBytes(700_000));
    for (const bytes of sent) client.open({ streamtype: 'data' }).end(bytes);
    await until(() => received.length === 3);
    const bytes = (await Promise.all(received)).map((parts) => Buffer.concat(parts));
    expect(bytes.map((one, index) => one.equals(sent[index]!))).toEqual([true, true, true]);
  });

  test('a stream that nobody reads stops its writer, and memory is bounded', async () => {
    const { client, accepted } = connect();
    const stream = client.open({});
    let written = 0;
    let isBlocked = false;
    while (!isBlocked && written < 10_000_000) {
      written += 10_000;
      isBlocked = !stream.write(Buffer.alloc(10_000));
      if (isBlocked) isBlocked = !(await Promise.race([once(stream, 'drain'), settled()]));
    }
    expect(isBlocked).toBe(true);
    expect(accepted[0]!.unread).toBeLessThan(1 << 20);
    let read = 0;
    accepted[0]!.on('data', (part: Buffer) => (read += part.length));
    await until(() => read === written);
  });

  test('with windows, a stream that nobody reads does not stop the others', async () => {
    const { client, accepted } = connect({ server: { windows: true } });
    await setImmediate();
    client.open({ streamtype: 'stuck' }).end(Buffer.alloc(500_000));
    client.open({ streamtype: 'free' }).end(Buffer.alloc(500_000, 1));
    await until(() => accepted.length === 2);
    expect(Buffer.concat((await accepted[1]!.toArray()) as Buffer[]).length).toBe(500_000);
    expect(accepted[0]!.unread).toBeLessThanOrEqual(64 << 10);
  });

  test('bytes that arrived before the end can be read after it', async () => {
    const { client, server, accepted } = connect();
    const stream = client.open({});
    await until(() => accepted.length === 1);
    accepted[0]!.end('the last words');
    await once(accepted[0]!, 'finish');
    server.close();
    await client.closed;
    expect(await text(stream)).toBe('the last words');
  });

  test('bytes sent before the connection was closed arrive, even if it is destroyed right after', async () => {
    const listener = createServer((socket) => {
      const server = new SpdyConnection(socket, { role: 'server' });
      const stream = server.open({});
      stream.end(Buffer.alloc(500_000));
      stream.on('finish', () => {
        server.close();
        server.destroy();
      });
    });
    await once(listener.listen(0, '127.0.0.1'), 'listening');
    const socket = createConnection((listener.address() as AddressInfo).port, '127.0.0.1');
    let received = 0;
    for await (const chunk of socket) received += (chunk as Buffer).length;
    listener.close();
    expect(received).toBeGreaterThan(500_000);
  });

  test('answers pings, and only those of the peer', async () => {
    const [near, far] = duplexPair();
    const server = new SpdyConnection(near, { role: 'server' });
    far.write(Buffer.concat([encodeControl({ type: 'ping', id: 7 }), encodeControl({ type: 'ping', id: 8 })]));
    const [reply] = (await once(far, 'data')) as [Buffer];
    expect(reply).toEqual(encodeControl({ type: 'ping', id: 7 }));
    server.destroy();
  });

  test('stops reading from a peer that sends pings but does not read the replies', async () => {
    const [near, far] = duplexPair();
    const server = new SpdyConnection(near, { role: 'server' });
    const pings = Buffer.concat(Array.from({ length: 5_000 }, () => encodeControl({ type: 'ping', id: 1 })));
    let isBlocked = false;
    for (let round = 0; round < 100 && !isBlocked; round++) {
      isBlocked = !far.write(pings) && !(await Promise.race([once(far, 'drain'), settled()]));
    }
    expect(isBlocked).toBe(true);
    expect(near.writableLength).toBeLessThan(1 << 20);
    server.destroy();
  });

  test('refuses streams beyond the limit and goes on', async () => {
    const { client, accepted } = connect({ server: { limits: { streams: 1 } } });
    client.open({});
    const [error] = (await once(client.open({}), 'error')) as [Error];
    expect(error.message).toBe('the stream was reset with status 3');
    expect(accepted.length).toBe(1);
  });

  test('a destroyed stream is reset at the other end', async () => {
    const { client, server, accepted } = connect();
    const stream = client.open({});
    await until(() => accepted.length === 1);
    stream.destroy();
    await once(accepted[0]!, 'close');
    await until(() => client.openStreams === 0 && server.openStreams === 0);
  });

  test('ends its streams when the transport ends, and lets go of them', async () => {
    const { client, accepted, ends } = connect();
    const stream = client.open({});
    await until(() => accepted.length === 1);
    const closed = once(stream.resume(), 'end');
    ends[0].destroy();
    ends[1].destroy();
    await closed;
    expect(client.openStreams).toBe(0);
    expect(() => client.open({})).toThrow('the connection is closed');
  });
});

describe('hostile peers', () => {
  const block = (): Buffer => new HeaderPacker().pack({});
  const syn = (streamId: number): Buffer =>
    encodeControl({ type: 'synStream', streamId, associatedTo: 0, priority: 0, fin: false, unidirectional: false, block: block() });

  test.each([
    ['a stream of the wrong parity', syn(2)],
    ['data for a stream that was never opened', Buffer.concat([encodeDataHeader(5, 1, false), Buffer.from('x')])],
    ['a stream that is opened twice', Buffer.concat([syn(1), syn(1)])],
    ['HTTP', Buffer.from('\x80\x50GET / HTTP/1.1\r\n\r\n')],
    ['a huge control frame', Buffer.from('8003000100ffffff', 'hex')],
  ])('%s closes the connection with GOAWAY', async (_name, bytes) => {
    const [near, far] = duplexPair();
    const server = new SpdyConnection(near, { role: 'server', onStream: () => {} });
    far.write(bytes);
    const received = Buffer.concat((await far.toArray()) as Buffer[]);
    expect(received.subarray(-16).readUInt16BE(2)).toBe(7);
    expect(await server.closed).toBeInstanceOf(SpdyProtocolError);
  });

  test('random bytes and cut frames end the connection or wait for more, and never throw', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(fc.uint8Array({ maxLength: 64 }), fc.constant(syn(1))), { maxLength: 8 }), async (parts) => {
        const [near, far] = duplexPair();
        const server = new SpdyConnection(near, { role: 'server', onStream: (stream) => void stream.on('error', () => {}).resume() });
        far.resume();
        for (const part of parts) far.write(part);
        far.end();
        await server.closed;
        expect(server.openStreams).toBe(0);
      }),
      { numRuns: 200 },
    );
  });
});

/** Resolves with undefined after everything that is under way has had its turn. */
async function settled(): Promise<undefined> {
  for (let turn = 0; turn < 50; turn++) await setImmediate();
  return undefined;
}
