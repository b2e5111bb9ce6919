import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { ensurePki } from '@capstan/pki';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Exchange } from './exchange.ts';
import { Listener } from './listener.ts';

const held: TLSSocket[] = [];
const handled: Exchange[] = [];
let directory: string;
let listener: Listener;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'protocol-'));
  const { serving, authority } = await ensurePki(directory, {});
  listener = await Listener.listen({
    host: '127.0.0.1',
    port: 0,
    certificate: serving.certificate,
    key: serving.key,
    clientCa: authority.certificate,
    limits: { overall: 10, perAddress: 10, fromLoopback: 10 },
    onError: () => {},
    handle: (exchange) => {
      held.push(exchange.socket);
      handled.push(exchange);
      exchange.send({ code: 200, type: 'text/plain', body: '' });
    },
  });
});
afterAll(async () => {
  await listener[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

async function connected(offered: readonly string[] | undefined): Promise<TLSSocket> {
  const options = offered === undefined ? {} : { ALPNProtocols: offered };
  const socket = connectTls({ host: '127.0.0.1', port: listener.port, rejectUnauthorized: false, ...options });
  await once(socket, 'secureConnect');
  return socket;
}

describe('the protocol of a connection', () => {
  test.each([
    [['http/1.1', 'h2'], 'h2'],
    [['other', 'http/1.1'], 'http/1.1'],
    [undefined, false],
  ])('is the best that both speak: %s', async (offered, spoken) => {
    const socket = await connected(offered);
    expect(socket.alpnProtocol).toBe(spoken);
    socket.destroy();
  });

  test('must be one that the server speaks', async () => {
    await expect(connected(['other'])).rejects.toThrow(/no application protocol/);
  });

  test('keeps no buffer alive that connections share', async () => {
    const socket = await connected(['http/1.1']);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data');
    const { _tlsOptions: options } = held[0] as unknown as { _tlsOptions: { ALPNProtocols?: Buffer } };
    expect(options.ALPNProtocols?.buffer.byteLength ?? 0).toBeLessThan(1024);
    socket.destroy();
  });

  test('is HTTP/2, whose requests know their connection, also when the client has left', async () => {
    const client = connectHttp2(`https://127.0.0.1:${listener.port}`, { rejectUnauthorized: false });
    const before = handled.length;
    client.request({ ':path': '/' }).resume();
    await expect.poll(() => handled.length).toBe(before + 1);
    const { socket } = handled[before]!;
    client.destroy();
    await expect.poll(() => socket.destroyed).toBe(true);
    expect(handled[before]!.socket).toBe(socket);
  });
});
