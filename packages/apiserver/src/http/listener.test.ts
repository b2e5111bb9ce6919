import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from 'node:http2';
import { connect as connectPlain, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { ensurePki, type Pki } from '@capstan/pki';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ConnectionTimeouts } from './connection.ts';
import type { ConnectionLimits } from './connections.ts';
import type { AnswerStream, Exchange } from './exchange.ts';
import { Listener } from './listener.ts';

let directory: string;
let pki: Pki;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'listener-'));
  pki = await ensurePki(directory, {});
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Timeouts that never expire during a test. */
const patient: ConnectionTimeouts = {
  handshake: 60_000,
  headers: 60_000,
  body: 60_000,
  idle: 60_000,
  answer: 60_000,
  quiet: 60_000,
  sweep: 10,
};
const roomy: ConnectionLimits = { overall: 1_000, perAddress: 1_000, fromLoopback: 1_000 };
const big = Buffer.alloc(32 << 20, 'x');

interface Started {
  readonly listener: Listener;
  readonly port: number;
  /** Streaming responses, in the order in which they started. */
  readonly watches: AnswerStream[];
  /** Resolves when a watch ends. */
  readonly over: Promise<void>;
  /** The outcome of each body: its length, or the error message. */
  readonly bodies: (number | string)[];
}

/** Serves `/big`, reads the body of a POST, watches on `/watch`, and treats every client of `/known` as authenticated. */
async function start(
  timeouts: Partial<ConnectionTimeouts>,
  limits: ConnectionLimits = roomy,
  handle?: (exchange: Exchange) => void,
  now: () => number = () => performance.now(),
): Promise<Started> {
  const watches: AnswerStream[] = [];
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const bodies: (number | string)[] = [];
  const read = async (exchange: Exchange): Promise<void> => {
    try {
      bodies.push((await exchange.body(1 << 20)).length);
      exchange.send({ code: 200, type: 'text/plain', body: 'read' });
    } catch (error) {
      bodies.push((error as Error).message);
      exchange.send({ code: 504, type: 'text/plain', body: 'late' });
    }
  };
  const listener = await Listener.listen({
    host: '127.0.0.1',
    port: 0,
    certificate: pki.serving.certificate,
    key: pki.serving.key,
    clientCa: pki.authority.certificate,
    limits,
    timeouts: { ...patient, ...timeouts },
    now,
    onError: () => {},
    handle: (exchange) => {
      if (handle !== undefined) return handle(exchange);
      if (exchange.url === '/known') exchange.authenticated();
      if (exchange.url === '/watch') {
        watches.push(exchange.stream(200, 'application/json'));
        exchange.onClose(end);
      } else if (exchange.method === 'POST' && exchange.url !== '/denied') void read(exchange);
      else exchange.send({ code: 200, type: 'text/plain', body: exchange.url === '/big' ? big : 'ok' });
    },
  });
  cleanups.push(() => listener[Symbol.asyncDispose]());
  return { listener, port: listener.port, watches, over, bodies };
}

const closed = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.once('close', resolve));

function tcp(port: number, allowHalfOpen = false): Socket {
  const socket = connectPlain({ host: '127.0.0.1', port, allowHalfOpen });
  socket.on('error', () => {});
  socket.resume();
  cleanups.push(() => socket.destroy());
  return socket;
}

async function tls(port: number, protocol = 'http/1.1'): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: [protocol] });
  socket.on('error', () => {});
  cleanups.push(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

function http2(port: number, settings = {}): ClientHttp2Session {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, settings });
  session.on('error', () => {});
  cleanups.push(() => session.destroy());
  return session;
}

function ask(session: ClientHttp2Session, headers: Record<string, string>, endStream = true): ClientHttp2Stream {
  const stream = session.request(headers, { endStream });
  stream.on('error', () => {});
  return stream;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

async function answerTo(socket: Socket, request: string): Promise<string> {
  socket.write(request);
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString();
}

/** Long enough for many checks of each connection. */
const manyLooks = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 250));

/** After this, unauthenticated connections may be displaced. */
const longEnoughToBeKnown = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 600));

describe('a client is cut off', () => {
  test('that connects and sends nothing', async () => {
    const { port, listener } = await start({ handshake: 50 });
    await closed(tcp(port));
    await expect.poll(() => listener.connections).toBe(0);
    expect(listener.endedConnections.get('handshake')).toBe(1);
  });

  test('that stops in the middle of the handshake', async () => {
    const { port, listener } = await start({ handshake: 50 });
    const socket = tcp(port);
    socket.write(Buffer.from([22, 3, 1, 2, 0, 1, 0]));
    await closed(socket);
    await expect.poll(() => listener.connections).toBe(0);
  });

  test.each(['http/1.1', 'h2'])('that sends no request after the handshake, %s', async (protocol) => {
    const { port, listener } = await start({ headers: 50 });
    const socket = await tls(port, protocol);
    socket.resume();
    await closed(socket);
    expect(listener.endedConnections.get('headers')).toBe(1);
  });

  test.each([
    ['http/1.1', 'GET / HTTP/1.1\r\nX-Slow: '],
    ['h2', 'PRI * HTTP/2.0\r\n'],
    // The preface, settings, and a HEADERS frame that is mostly missing.
    [
      'h2',
      Buffer.concat([
        Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
        Buffer.from('000000040000000000', 'hex'),
        Buffer.from('00004001040000000182', 'hex'),
      ]),
    ],
  ])('that sends its header one byte at a time, %s', async (protocol, beginning) => {
    const { port, listener } = await start({ headers: 100 });
    const socket = await tls(port, protocol);
    socket.resume();
    socket.write(beginning);
    const drip = setInterval(() => socket.write('a'), 10);
    await closed(socket);
    clearInterval(drip);
    await expect.poll(() => listener.connections).toBe(0);
  });

  test('that sends part of a second header', async () => {
    const { port, listener } = await start({ headers: 50 });
    const socket = await tls(port);
    await answerTo(socket, get('/'));
    await manyLooks();
    expect(listener.connections).toBe(1);
    socket.write('GET /');
    await closed(socket);
    expect(listener.endedConnections.get('headers')).toBe(1);
  });

  test('that keeps an idle connection open', async () => {
    const { port, listener } = await start({ idle: 50 });
    const socket = await tls(port);
    await answerTo(socket, get('/'));
    await closed(socket);
    const session = http2(port);
    const answered = ask(session, { ':path': '/' });
    answered.resume();
    await once(answered, 'close');
    const pings = setInterval(() => session.destroyed || session.ping(() => {}), 10);
    const goaway = once(session, 'goaway');
    await once(session, 'close');
    clearInterval(pings);
    expect((await goaway)[0]).toBe(constants.NGHTTP2_NO_ERROR);
    await expect.poll(() => listener.connections).toBe(0);
  });

  test('whose body does not arrive, or arrives one byte at a time', async () => {
    const { port, bodies } = await start({ body: 60 });
    const stalled = await tls(port);
    expect(await answerTo(stalled, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{')).toContain('504');
    await closed(stalled);
    const trickling = await tls(port);
    const drip = setInterval(() => trickling.write('1\r\na\r\n'), 10);
    expect(await answerTo(trickling, 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')).toContain('504');
    clearInterval(drip);
    expect(bodies).toEqual([expect.stringContaining('did not arrive in time'), expect.stringContaining('did not arrive in time')]);
  });

  test('whose body does not arrive over HTTP/2, while its other requests continue', async () => {
    const { port, bodies } = await start({ body: 60 });
    const session = http2(port);
    const watch = ask(session, { ':path': '/watch' });
    await once(watch, 'response');
    const stream = ask(session, { ':method': 'POST', ':path': '/' }, false);
    const drip = setInterval(() => stream.destroyed || stream.write('a'), 10);
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    expect(headers[':status']).toBe(504);
    stream.resume();
    await once(stream, 'close');
    clearInterval(drip);
    expect(bodies).toHaveLength(1);
    expect([watch.closed, session.closed]).toEqual([false, false]);
  });

  test('that keeps sending after the response', async () => {
    const { port } = await start({ body: 60, headers: 60 });
    const session = http2(port);
    const stream = ask(session, { ':method': 'POST', ':path': '/denied' }, false);
    stream.resume();
    await once(stream, 'close');
    const socket = await tls(port);
    await answerTo(socket, 'POST /denied HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    const drip = setInterval(() => socket.write('1\r\na\r\n'), 10);
    await closed(socket);
    clearInterval(drip);
  });
});

describe('a response that nobody reads', () => {
  test('ends the connection', async () => {
    const { port, listener } = await start({ answer: 80 });
    const socket = await tls(port);
    socket.pause();
    socket.write(get('/big'));
    await expect.poll(() => listener.endedConnections.get('answer')).toBe(1);
    await expect.poll(() => listener.connections).toBe(0);
  });

  test('ends the stream over HTTP/2, and leaves the other streams open', async () => {
    const { port } = await start({ answer: 80 });
    const session = http2(port);
    const watch = ask(session, { ':path': '/watch' });
    await once(watch, 'response');
    const stream = ask(session, { ':path': '/big' });
    await once(stream, 'response');
    await expect.poll(() => stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
    expect([watch.closed, session.closed]).toEqual([false, false]);
  });

  test('ends an HTTP/2 connection whose client reads nothing at all', async () => {
    const { port, listener } = await start({ answer: 80 });
    const relay = await relayTo(port);
    const session = http2(relay.port, { initialWindowSize: 2 ** 31 - 1 });
    await once(session, 'remoteSettings');
    session.setLocalWindowSize(2 ** 31 - 1);
    const stream = ask(session, { ':path': '/big' });
    await once(stream, 'response');
    relay.stop();
    await expect.poll(() => listener.connections).toBe(0);
    expect(listener.endedConnections.get('answer')).toBe(1);
  });

  test('is kept open as long as some of it is read', async () => {
    const { port, listener } = await start({ answer: 400 });
    const socket = await tls(port);
    let read = 0;
    let slow = true;
    socket.on('data', (chunk: Buffer) => {
      read += chunk.length;
      if (!slow) return;
      socket.pause();
      setTimeout(() => socket.resume(), 2);
    });
    socket.write(get('/big'));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(listener.connections).toBe(1);
    slow = false;
    await expect.poll(() => read, { timeout: 10_000 }).toBeGreaterThan(big.length);
  });
});

describe('a watch', () => {
  test.each(['http/1.1', 'h2'])('without events stays open, %s', async (protocol) => {
    const short = 40;
    const limits = { handshake: short, headers: short, body: short, idle: short, answer: short, quiet: short };
    // The time stands still until the watch has begun: a busy machine may need longer for that.
    let isOpen = false;
    const { port, listener, watches } = await start(limits, roomy, undefined, () => (isOpen ? performance.now() : 0));
    let received = '';
    if (protocol === 'h2') ask(http2(port), { ':path': '/watch' }).on('data', (chunk: Buffer) => (received += chunk.toString()));
    else (await tls(port)).on('data', (chunk: Buffer) => (received += chunk.toString())).write(get('/watch'));
    await expect.poll(() => watches.length).toBe(1);
    isOpen = true;
    await manyLooks();
    watches[0]!.write('an event');
    await expect.poll(() => received).toContain('an event');
    await manyLooks();
    watches[0]!.write('another one');
    await expect.poll(() => received).toContain('another one');
    expect(listener.connections).toBe(1);
    // Time spent in a watch does not count as idle.
    expect(listener.endedConnections.size).toBe(0);
  });

  test.each(['http/1.1', 'h2'])('whose client does not read is ended, %s', async (protocol) => {
    const { port, watches, over } = await start({ answer: 80 });
    if (protocol === 'h2') ask(http2(port), { ':path': '/watch' }).pause();
    else (await tls(port)).pause().write(get('/watch'));
    await expect.poll(() => watches.length).toBe(1);
    watches[0]!.write(big);
    await over;
  });

  test('whose client disappears silently is ended', async () => {
    const { port, listener, watches } = await start({ quiet: 50, answer: 50 });
    const relay = await relayTo(port);
    ask(http2(relay.port), { ':path': '/watch' });
    await expect.poll(() => watches.length).toBe(1);
    relay.stop();
    await expect.poll(() => listener.endedConnections.get('gone')).toBe(1);
    await expect.poll(() => listener.connections).toBe(0);
  });
});

describe('with too many connections', () => {
  test('from one address, the newest is closed', async () => {
    const { port, listener } = await start({}, { ...roomy, fromLoopback: 3 });
    const first = await Promise.all([tls(port), tls(port), tls(port)]);
    await closed(tcp(port));
    expect([listener.connections, listener.endedConnections.get('refused')]).toEqual([3, 1]);
    expect(await answerTo(first[0]!, get('/'))).toContain('200 OK');
    first[1]!.destroy();
    await expect.poll(() => listener.connections).toBe(2);
    expect(await answerTo(await tls(port), get('/'))).toContain('200 OK');
  });

  test('idle unauthenticated clients make room, never authenticated ones or those being answered', async () => {
    const { port, listener, watches } = await start({}, { ...roomy, overall: 4 });
    const known = await tls(port);
    expect(await answerTo(known, get('/known'))).toContain('200 OK');
    const busy = await tls(port);
    busy.write(get('/watch'));
    await expect.poll(() => watches.length).toBe(1);
    const idle = tcp(port);
    // It has its response, but keeps its request open.
    const lingering = http2(port);
    ask(lingering, { ':method': 'POST', ':path': '/denied' }, false).resume();
    const gone = [closed(idle), once(lingering, 'close')];
    await expect.poll(() => listener.connections).toBe(4);
    await longEnoughToBeKnown();
    expect(await answerTo(await tls(port), get('/known'))).toContain('200 OK');
    await gone[0];
    expect(await answerTo(await tls(port), get('/known'))).toContain('200 OK');
    await gone[1];
    await longEnoughToBeKnown();
    // No connection is left that could make room.
    await closed(tcp(port));
    expect(await answerTo(known, get('/known'))).toContain('200 OK');
    expect(busy.destroyed).toBe(false);
  });
});

test.each(['http/1.1', 'h2'])('a client that disconnects while its response is held ends only its own request, %s', async (protocol) => {
  const held: (() => void)[] = [];
  const hold = { holds: true, hold: (send: () => void) => void held.push(send) };
  const { port } = await start({}, roomy, (exchange) => {
    exchange.keeper = hold;
    exchange.send({ code: 403, type: 'text/plain', body: 'no' });
  });
  if (protocol === 'h2') {
    const session = http2(port);
    const gone = ask(session, { ':method': 'POST', ':path': '/' }, false);
    gone.write('a part of a body that nobody reads');
    const stays = ask(session, { ':path': '/' });
    await expect.poll(() => held.length).toBe(2);
    gone.close(constants.NGHTTP2_CANCEL);
    await new Promise((resolve) => session.ping(resolve));
    for (const send of held) expect(send).not.toThrow();
    const [headers] = (await once(stays, 'response')) as [Record<string, unknown>];
    expect(headers[':status']).toBe(403);
  } else {
    const socket = await tls(port);
    socket.write(get('/'));
    await expect.poll(() => held.length).toBe(1);
    socket.destroy();
    await manyLooks();
    expect(held[0]).not.toThrow();
  }
});

test('a listener that stops lets requests finish, and tells HTTP/2 clients to send no more', async () => {
  const { port, listener, watches } = await start({});
  const session = http2(port);
  const stream = ask(session, { ':path': '/watch' });
  const ended = once(stream, 'end');
  let received = '';
  stream.on('data', (chunk: Buffer) => (received += chunk.toString()));
  await expect.poll(() => watches.length).toBe(1);
  const goaway = once(session, 'goaway');
  const stopped = listener[Symbol.asyncDispose]();
  await goaway;
  watches[0]!.write('the last event');
  watches[0]!.end();
  await ended;
  expect(received).toBe('the last event');
  await stopped;
});

test('a response that cannot be sent after its audit record is written ends only its own request', async () => {
  const held: (() => void)[] = [];
  const { port } = await start({}, roomy, (exchange) => {
    exchange.keeper = { holds: exchange.url === '/bad', hold: (send) => void held.push(send) };
    if (exchange.url === '/bad') exchange.header('X-Bad', 'a\nb');
    exchange.send({ code: 200, type: 'text/plain', body: 'ok' });
  });
  const socket = await tls(port);
  socket.write(get('/bad'));
  await expect.poll(() => held.length).toBe(1);
  expect(held[0]).not.toThrow();
  await closed(socket);
  expect(await answerTo(await tls(port), get('/'))).toContain('200 OK');
});

describe('a client without TLS', () => {
  test('gets an error if it speaks HTTP', async () => {
    const { port, listener } = await start({ handshake: 50 });
    const socket = tcp(port, true);
    socket.write(`${get('/version')}${'x'.repeat(100_000)}`);
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    await once(socket, 'end');
    expect(answer).toBe('HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n');
    // It occupies no connection, although it never closes its own side.
    await expect.poll(() => listener.connections).toBe(0);
  });

  test('is cut off if it speaks anything else', async () => {
    const { port } = await start({});
    const socket = tcp(port);
    socket.write('\0\0\0');
    await closed(socket);
  });
});

/** A relay to a port that can be stopped: both sides stay connected, but nothing gets through. */
async function relayTo(port: number): Promise<{ readonly port: number; readonly stop: () => void }> {
  const sockets: Socket[] = [];
  const server: Server = createServer((near) => {
    const far = connectPlain({ host: '127.0.0.1', port });
    for (const socket of [near, far]) socket.on('error', () => {});
    near.pipe(far).pipe(near);
    sockets.push(near, far);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as { port: number }).port,
    stop: () => {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
  };
}
