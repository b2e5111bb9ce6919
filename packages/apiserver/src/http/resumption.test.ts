import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { ensurePki, type Pki } from '@capstan/pki';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Listener } from './listener.ts';

let directory: string;
let pki: Pki;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'resumption-'));
  pki = await ensurePki(directory, {});
});
afterAll(() => rm(directory, { recursive: true, force: true }));

test('a client that comes back resumes its TLS session, and is still known by its certificate', async () => {
  const certificates: (string | undefined)[] = [];
  await using listener = await Listener.listen({
    host: '127.0.0.1',
    port: 0,
    certificate: pki.serving.certificate,
    key: pki.serving.key,
    clientCa: pki.authority.certificate,
    limits: { overall: 10, perAddress: 10, fromLoopback: 10 },
    onError: () => {},
    handle: (exchange) => {
      certificates.push(exchange.socket.getPeerX509Certificate()?.subject);
      exchange.send({ code: 200, type: 'text/plain', body: 'ok' });
    },
  });
  const { port } = listener;
  const { certificate: cert, key } = pki.serving;
  const visit = async (session?: Buffer): Promise<{ session: Buffer; isReused: boolean }> => {
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, cert, key, ...(session && { session }) });
    const ticket = once(socket, 'session') as Promise<[Buffer]>;
    await once(socket, 'secureConnect');
    const answer = once(socket, 'data');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await answer;
    const result = { session: session ?? (await ticket)[0], isReused: socket.isSessionReused() };
    socket.destroy();
    return result;
  };
  const first = await visit();
  const second = await visit(first.session);
  expect([first.isReused, second.isReused]).toEqual([false, true]);
  expect(certificates[0]).toBeDefined();
  expect(certificates[1]).toBe(certificates[0]);
});
