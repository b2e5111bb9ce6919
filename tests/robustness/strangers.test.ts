import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectPlain, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { type RunningCapstan, startCapstan } from '@capstan/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiClient } from './apiserver-client.ts';

const openFiles = 256;
const configMaps = '/api/v1/namespaces/default/configmaps';

let server: RunningCapstan;
let port: number;
beforeAll(async () => {
  server = await startCapstan({ store: 'sqlite', openFiles });
  port = Number(new URL(server.url).port);
});
afterAll(() => server[Symbol.asyncDispose]());

class Strangers implements Disposable {
  readonly #sockets: Socket[] = [];

  /** Connects, some of them with TLS, and sends nothing. */
  come(count: number): void {
    for (let index = 0; index < count; index++) {
      const socket =
        index % 2 === 0
          ? connectPlain({ host: '127.0.0.1', port })
          : connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: [index % 4 === 1 ? 'h2' : 'http/1.1'] });
      socket.on('error', () => {});
      this.#sockets.push(socket);
    }
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

async function create(client: ApiClient, name: string): Promise<number> {
  const value = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
  return (await client.ask('POST', configMaps, { type: 'application/json', value })).status;
}

describe('more strangers than the process may have files open', () => {
  test('keep out no known client, and break nothing', async () => {
    using known = new ApiClient(server.kubeconfig);
    expect(await create(known, 'before')).toBe(201);
    {
      using strangers = new Strangers();
      // Long enough for all periodic work of the server.
      for (let round = 0; round < 40; round++) {
        strangers.come(20);
        expect(await create(known, `during-${round}`)).toBe(201);
        await sleep(100);
      }
      expect(await known.ask('GET', '/metrics')).toMatchObject({
        status: 200,
        body: expect.stringMatching(/^process_resident_memory_bytes \d+$/m),
      });
      await sleep(1_000);
      // A new client is accepted as well: idle connections make room.
      using another = new ApiClient(server.kubeconfig);
      expect(await create(another, 'another')).toBe(201);
    }
    using after = new ApiClient(server.kubeconfig);
    expect(await create(after, 'after')).toBe(201);
    expect(server.child.running).toBe(true);
    const audit = readFileSync(join(server.dataDirectory, 'audit.log'), 'utf8');
    expect(audit.split('\n').filter((line) => line.includes(`"requestURI":"${configMaps}"`))).toHaveLength(43);
  });
});

test('a request to change protocols behind one that is not answered yet is answered, and ends nothing', async () => {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const upgrading = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
  socket.write(`GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\n${upgrading}\r\n`);
  let answers = '';
  socket.on('data', (chunk: Buffer) => (answers += chunk.toString()));
  await expect.poll(() => answers.split('HTTP/1.1 200').length - 1).toBe(2);
  socket.destroy();
  expect(server.child.running).toBe(true);
});

test('a client without TLS gets an error that says so', async () => {
  const socket = connectPlain({ host: '127.0.0.1', port });
  socket.write('GET /version HTTP/1.1\r\nHost: x\r\n\r\n');
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  await once(socket, 'close');
  expect(answer).toBe('HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n');
});

test('rejected requests with long URLs are counted instead of filling the audit log', async () => {
  const times = 500;
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  let answered = 0;
  socket.on('data', (chunk: Buffer) => (answered += chunk.toString().split('HTTP/1.1 403').length - 1));
  for (let index = 0; index < times; index++) socket.write(`GET /api/v1/${index}/${'x'.repeat(50_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await expect.poll(() => answered, { timeout: 30_000 }).toBe(times);
  socket.destroy();
  await server.child.stop();
  const refusals = readFileSync(join(server.dataDirectory, 'audit.log'), 'utf8')
    .split('\n')
    .filter((line) => line.includes('"code":403'));
  const counted = refusals.map((line) =>
    Number((JSON.parse(line) as { annotations: Record<string, string> }).annotations['capstan.dev/repeated'] ?? 1),
  );
  expect(counted.reduce((sum, count) => sum + count, 0)).toBe(times);
  expect(refusals.join('').length).toBeLessThan(100_000);
});
