import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { ensurePki, type Pki } from '@capstan/pki';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ClientAccount, Exchange, Holdable } from './exchange.ts';
import { Listener } from './listener.ts';

let directory: string;
let pki: Pki;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'held-'));
  pki = await ensurePki(directory, {});
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** A server that holds the connections of `/busy`, and answers with what it was asked for. */
class Holding implements AsyncDisposable {
  readonly seen: string[] = [];
  readonly held: Holdable[] = [];
  #listener: Listener | undefined;

  static async start(): Promise<Holding> {
    const holding = new Holding();
    holding.#listener = await Listener.listen({
      host: '127.0.0.1',
      port: 0,
      certificate: pki.serving.certificate,
      key: pki.serving.key,
      clientCa: pki.authority.certificate,
      limits: { overall: 100, perAddress: 100, fromLoopback: 100 },
      onError: () => {},
      handle: (exchange) => void holding.#answer(exchange),
    });
    return holding;
  }

  get port(): number {
    return this.#listener!.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listener![Symbol.asyncDispose]();
  }

  async #answer(exchange: Exchange): Promise<void> {
    const tenant = `/${exchange.url.split('/')[1]}`;
    exchange.client = this.#account(tenant);
    if (exchange.method === 'POST') await exchange.body(8 << 20);
    this.seen.push(exchange.url);
    exchange.send({ code: 200, type: 'text/plain', body: exchange.url });
  }

  #account(tenant: string): ClientAccount {
    const beforeReading = (connection: Holdable): void => {
      if (tenant === '/busy' && connection.hold()) this.held.push(connection);
    };
    return { tenant, beforeReading, mostConnections: 10 } as unknown as ClientAccount;
  }
}

async function connected(port: number): Promise<TLSSocket & Disposable> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  return Object.assign(socket, { [Symbol.dispose]: () => void socket.destroy() });
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

async function answered(socket: TLSSocket, request: string): Promise<void> {
  socket.write(request);
  await once(socket, 'data');
}

async function asked(session: ClientHttp2Session, path: string): Promise<void> {
  const stream = session.request({ ':path': path }).resume();
  await once(stream, 'end');
}

describe('a connection that is held', () => {
  test('is not read until it is released, while others are', async () => {
    await using server = await Holding.start();
    using busy = await connected(server.port);
    using calm = await connected(server.port);
    await answered(busy, get('/busy/1'));
    busy.write(get('/busy/2'));
    await answered(calm, get('/calm/1'));
    await answered(calm, get('/calm/2'));
    expect([server.seen, server.held.length]).toEqual([['/busy/1', '/calm/1', '/calm/2'], 1]);
    server.held[0]!.release();
    await once(busy, 'data');
    expect(server.seen).toEqual(['/busy/1', '/calm/1', '/calm/2', '/busy/2']);
  });

  test('is not read with HTTP/2 either', async () => {
    await using server = await Holding.start();
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false });
    using calm = await connected(server.port);
    await asked(session, '/busy/1');
    const second = asked(session, '/busy/2');
    await answered(calm, get('/calm/1'));
    await answered(calm, get('/calm/2'));
    expect(server.seen).toEqual(['/busy/1', '/calm/1', '/calm/2']);
    server.held[0]!.release();
    await second;
    session.destroy();
    expect(server.seen.at(-1)).toBe('/busy/2');
  });

  test('is read in parts while it sends a long body', async () => {
    await using server = await Holding.start();
    using busy = await connected(server.port);
    const length = 4 << 20;
    busy.write(`POST /busy/long HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`);
    busy.write(Buffer.alloc(length, 'x'));
    for (let part = 0; part < 3; part++) {
      await expect.poll(() => server.held.length).toBe(part + 1);
      expect(server.seen).toEqual([]);
      server.held[part]!.release();
    }
    const releasing = setInterval(() => server.held.at(-1)?.release(), 1);
    await once(busy, 'data');
    clearInterval(releasing);
    expect(server.seen).toEqual(['/busy/long']);
  });

  test('may be closed by either side', async () => {
    await using server = await Holding.start();
    using busy = await connected(server.port);
    await answered(busy, get('/busy/1'));
    busy.destroy();
    server.held[0]!.release();
    using other = await connected(server.port);
    await answered(other, get('/busy/2'));
    expect(server.seen).toEqual(['/busy/1', '/busy/2']);
  });
});

test('a connection with requests of several tenants, such as that of a proxy, is never held', async () => {
  await using server = await Holding.start();
  using proxy = await connected(server.port);
  await answered(proxy, get('/calm/1'));
  await answered(proxy, get('/busy/1'));
  await answered(proxy, get('/calm/2'));
  expect([server.seen.length, server.held.length]).toEqual([3, 0]);
});
