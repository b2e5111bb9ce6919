import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import { ensurePki } from '@capstan/pki';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Exchange } from './exchange.ts';
import { Listener } from './listener.ts';
import { switchProtocols } from './upgrade-exchange.ts';

let listener: Listener;
let directory: string;
let authority: string;
let handle: (exchange: Exchange) => void;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'capstan-upgrade-'));
  const pki = await ensurePki(directory);
  authority = pki.authority.certificate;
  listener = await Listener.listen({
    host: '127.0.0.1',
    port: 0,
    certificate: pki.serving.certificate,
    key: pki.serving.key,
    clientCa: authority,
    handle: (exchange) => handle(exchange),
    limits: { overall: 100, perAddress: 100, fromLoopback: 100 },
    timeouts: { sweep: 10, answer: 50, idle: 50, headers: 50 },
    onError: () => {},
  });
});
afterAll(async () => {
  await listener[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

async function send(request: string): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: listener.port, ca: authority });
  await once(socket, 'secureConnect');
  socket.write(request);
  return socket;
}

const upgrading = 'GET /x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';

describe('a request to change protocols', () => {
  test('becomes a connection, with the bytes that came after it', async () => {
    const closed = Promise.withResolvers<void>();
    handle = (exchange) => {
      expect(exchange.upgradeTo).toBe('spdy/3.1');
      exchange.header('Audit-Id', '7');
      exchange.onClose(closed.resolve);
      const stream = switchProtocols(exchange.upgrade(), ['Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1']);
      expect([exchange.code, exchange.answered]).toEqual([101, true]);
      stream.pipe(stream);
    };
    const socket = await send(`${upgrading}first`);
    let received = '';
    socket.on('data', (data: Buffer) => (received += data.toString()));
    while (!received.includes('first')) await once(socket, 'data');
    expect(received).toBe('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nAudit-Id: 7\r\n\r\nfirst');
    socket.write('second');
    while (!received.endsWith('second')) await once(socket, 'data');
    socket.destroy();
    await closed.promise;
  });

  test('can be answered like any other, after which the connection closes', async () => {
    handle = (exchange) => exchange.send({ code: 403, type: 'text/plain', body: 'no' });
    const answer = await text(await send(upgrading));
    expect(answer).toMatch(/^HTTP\/1.1 403 Forbidden\r\n/);
    expect(answer).toMatch(/\r\nConnection: close\r\n/);
    expect(answer).toMatch(/\r\n\r\nno$/);
  });

  test.each([0, 1, 1 << 20])('can be answered with a stream, which ends with its client, who has sent %i bytes more', async (bytes) => {
    const closed = Promise.withResolvers<void>();
    handle = (exchange) => {
      exchange.onClose(closed.resolve);
      exchange.isPatient = true;
      exchange.stream(200, 'text/plain').write('first');
    };
    const socket = await send(upgrading);
    socket.on('error', () => {});
    await once(socket, 'data');
    socket.end(Buffer.alloc(bytes));
    await closed.promise;
  });

  test.each([
    ['another protocol', 'GET /x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n', ''],
    ['a body', 'POST /x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nContent-Length: 4\r\n\r\nbody', 'body'],
  ])('with %s is an ordinary request', async (_name, request, body) => {
    handle = async (exchange) => {
      expect(exchange.upgradeTo).toBeUndefined();
      expect(() => exchange.upgrade()).toThrow(TypeError);
      exchange.send({ code: 200, type: 'text/plain', body: await exchange.body(100) });
    };
    expect((await text(await send(request))).split('\r\n\r\n')[1]).toBe(body);
  });

  test('behind one that is not answered yet is an ordinary request, and answered after it', async () => {
    const { promise: isSecond, resolve: second } = Promise.withResolvers<void>();
    handle = (exchange) => {
      const answer = (): void => exchange.send({ code: 200, type: 'text/plain', body: `${exchange.url} ${exchange.upgradeTo}` });
      if (exchange.url === '/first') return void isSecond.then(answer);
      second();
      answer();
    };
    const socket = await send(
      `GET /first HTTP/1.1\r\nHost: x\r\n\r\n${upgrading.replace('Connection: Upgrade', 'Connection: Upgrade, close')}`,
    );
    const bodies = (await text(socket)).match(/\/\S+ undefined/g);
    expect(bodies).toEqual(['/first undefined', '/x undefined']);
  });

  test('behind one that Node answers itself ends its connection only', async () => {
    handle = (exchange) => exchange.send({ code: 200, type: 'text/plain', body: 'fine' });
    const withoutHost = 'GET /first HTTP/1.1\r\n\r\n'.repeat(3);
    const unexpected = 'GET /first HTTP/1.1\r\nHost: x\r\nExpect: nothing\r\n\r\n';
    for (const first of [withoutHost, unexpected]) await once((await send(`${first}${upgrading}`)).resume(), 'close');
    expect(await text(await send('GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'))).toMatch(/fine$/);
  });

  test('on a connection that was used before becomes a connection too', async () => {
    handle = (exchange) => {
      if (exchange.upgradeTo === undefined) return exchange.send({ code: 200, type: 'text/plain', body: 'first' });
      switchProtocols(exchange.upgrade(), ['Connection', 'Upgrade']).end('second');
    };
    const socket = await send('GET /first HTTP/1.1\r\nHost: x\r\n\r\n');
    let received = '';
    socket.on('data', (data: Buffer) => (received += data.toString()));
    while (!received.endsWith('first')) await once(socket, 'data');
    socket.write(upgrading);
    await once(socket, 'close');
    expect(received).toMatch(/101 Switching Protocols\r\nConnection: Upgrade\r\n\r\nsecond$/);
  });

  test('is not ended for a client that reads or sends nothing', async () => {
    const { promise, resolve } = Promise.withResolvers<Exchange>();
    handle = resolve;
    const socket = await send(upgrading);
    socket.pause();
    const exchange = await promise;
    const stream = switchProtocols(exchange.upgrade(), []);
    while (stream.write(Buffer.alloc(1 << 20)));
    const ended = listener.endedConnections.size;
    // Several checks of all connections, each of which would find it overdue.
    const silent = await send('');
    await once(silent, 'close');
    expect(listener.endedConnections.size).toBe(ended + 1);
    expect(exchange.closed).toBe(false);
    socket.destroy();
  });
});
