import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { head, Tenants } from './fairness-tenants.ts';

const configMaps = (cluster: string): string => `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;
const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

describe('unfinished requests in many workspaces of one organization', () => {
  let tenants: Tenants;
  beforeAll(async () => {
    tenants = await Tenants.start({ limits: { mutating: 12, readonly: 12, unfinished: { overall: 40, perTenant: 20 } } });
  });
  afterAll(() => tenants[Symbol.asyncDispose]());

  test('take no place from another organization, and are limited themselves', async () => {
    const children = Array.from({ length: 6 }, (_, index) => `child-${index}`);
    for (const child of children) await tenants.make(child, { owner: 'mallory', parent: 'attacker' });
    const headers = { authorization: 'Bearer mallory-token', 'content-type': 'application/json', 'content-length': 100 };
    const sockets = await Promise.all(
      children.flatMap((child) => Array.from({ length: 5 }, () => tenants.dial(`${head('POST', configMaps(child), headers)}{`))),
    );
    let rejected = 0;
    for (const socket of sockets)
      socket.on('data', (chunk: Buffer) => (rejected += chunk.toString().startsWith('HTTP/1.1 429') ? 1 : 0)).resume();
    for (let index = 0; index < 30; index++) {
      const { status } = await tenants.ask('alice', configMaps('victim'), { method: 'POST', body: configMap(`during-${index}`) });
      expect(status).toBe(201);
    }
    await expect.poll(() => rejected).toBe(10);
  });
});

describe('clients that do not read', () => {
  let tenants: Tenants;
  const megabyte = 'x'.repeat(1_000_000);
  beforeAll(async () => {
    const limits = { unsentBytes: { overall: 64 << 20, perTenant: 16 << 20 }, timeouts: { sweep: 50 } };
    tenants = await Tenants.start({ limits });
    for (let index = 0; index < 10; index++)
      await tenants.ask('mallory', configMaps('attacker'), {
        method: 'POST',
        body: { ...configMap(`big-${index}`), data: { text: megabyte } },
      });
  });
  afterAll(() => tenants[Symbol.asyncDispose]());
  const ended = async (): Promise<number> => {
    const { text } = await tenants.server.call('/metrics');
    return Number(/capstan_connections_ended_total\{reason="unread"\} (\d+)/.exec(text)?.[1] ?? 0);
  };
  const get = (path: string, headers: Record<string, string> = {}): string =>
    head('GET', path, { authorization: 'Bearer mallory-token', ...headers });

  test('cannot fill the memory with lists', async () => {
    const before = process.memoryUsage.rss();
    await Promise.all(Array.from({ length: 60 }, () => tenants.dial(get(configMaps('attacker')))));
    const { status } = await tenants.ask('alice', configMaps('victim'));
    expect(status).toBe(200);
    await expect.poll(async () => (await tenants.server.call('/metrics')).text).toMatch(/^capstan_unsent_bytes [1-9]/m);
    expect(process.memoryUsage.rss() - before).toBeLessThan(300 << 20);
  });

  test('cannot fill the memory with single objects, or with tables', async () => {
    const before = process.memoryUsage.rss();
    await Promise.all(Array.from({ length: 150 }, () => tenants.dial(get(`${configMaps('attacker')}/big-0`))));
    const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    await Promise.all(Array.from({ length: 30 }, () => tenants.dial(get(`${configMaps('attacker')}?includeObject=Object`, table))));
    const { status } = await tenants.ask('alice', configMaps('victim'));
    expect(status).toBe(200);
    expect(process.memoryUsage.rss() - before).toBeLessThan(300 << 20);
  });

  test('of watches are disconnected when they hold too much', async () => {
    const before = await ended();
    await Promise.all(Array.from({ length: 20 }, () => tenants.dial(get(`${configMaps('attacker')}?watch=true`))));
    await expect.poll(ended, { timeout: 10_000 }).toBeGreaterThan(before);
    expect((await tenants.ask('alice', configMaps('victim'))).status).toBe(200);
  });

  test('that do read get all of a long list, compressed or not', async () => {
    const names = async (headers: Record<string, string>): Promise<string[]> => {
      const { text, body } = await tenants.server.call(configMaps('attacker'), { headers });
      const json = headers['accept-encoding'] === undefined ? text : gunzipSync(body).toString();
      return (JSON.parse(json) as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);
    };
    const expected = expect.arrayContaining(Array.from({ length: 10 }, (_, index) => `big-${index}`));
    expect(await names({})).toEqual(expected);
    expect(await names({ 'accept-encoding': 'gzip' })).toEqual(expected);
  });
});

describe('many long requests of one tenant', () => {
  let tenants: Tenants;
  beforeAll(async () => {
    tenants = await Tenants.start();
    const make = (index: number): Promise<unknown> =>
      tenants.server.call(configMaps('attacker'), {
        method: 'POST',
        body: { ...configMap(`c-${index}`), data: { text: 'x'.repeat(200) } },
      });
    for (let begin = 0; begin < 1_100; begin += 50) await Promise.all(Array.from({ length: 50 }, (_, index) => make(begin + index)));
  });
  afterAll(() => tenants[Symbol.asyncDispose]());

  test('leave room for the requests of others between them', async () => {
    // Connected already: a handshake would wait for those of the lists.
    const alice = await tenants.dial();
    let done = 0;
    const lists = 30;
    const all = Array.from({ length: lists }, async () => {
      const { code } = await tenants.server.call(configMaps('attacker'), {
        anonymous: true,
        headers: { authorization: 'Bearer mallory-token', accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
      });
      done++;
      return code;
    });
    alice.resume().write(head('GET', configMaps('victim'), { authorization: 'Bearer alice-token' }));
    const [answer] = (await once(alice, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 200/);
    expect(done).toBeLessThan(lists / 2);
    expect(new Set(await Promise.all(all))).toEqual(new Set([200]));
  });

  test('let others be served again and again while they apply large objects', async () => {
    const data = Object.fromEntries(Array.from({ length: 15_000 }, (_, index) => [`key-${index}`, 'x'.repeat(60)]));
    let isOver = false;
    const applies = Array.from({ length: 4 }, async (_, index) => {
      const { code } = await tenants.server.call(`${configMaps('attacker')}/applied-${index}?fieldManager=mallory`, {
        method: 'PATCH',
        anonymous: true,
        headers: { authorization: 'Bearer mallory-token', 'content-type': 'application/apply-patch+yaml' },
        body: { ...configMap(`applied-${index}`), data },
      });
      return code;
    });
    const applied = Promise.all(applies).finally(() => (isOver = true));
    let served = 0;
    while (!isOver) {
      expect((await tenants.server.call(configMaps('victim'))).code).toBe(200);
      served++;
    }
    expect(new Set(await applied)).toEqual(new Set([201]));
    expect(served).toBeGreaterThan(15 * applies.length);
  });
});

describe('a flood of TLS handshakes', () => {
  const flood = 400;
  const [burst, waiting] = [50, 100];
  let tenants: Tenants;
  beforeAll(async () => {
    tenants = await Tenants.start({ limits: { handshakes: { perSecond: 1, burst, maxWaitingPerSource: waiting } } });
  });
  afterAll(() => tenants[Symbol.asyncDispose]());

  test('delays nobody who is connected: few of one source begin, some wait, the rest are refused', async () => {
    const message = await firstMessage();
    let [begun, refused] = [0, 0];
    await using flooding = new AsyncDisposableStack();
    for (let index = 0; index < flood; index++) {
      const socket = connect({ host: '127.0.0.1', port: tenants.port });
      flooding.defer(() => void socket.destroy());
      socket.on('error', () => {}).once('close', () => refused++);
      socket.once('data', () => begun++);
      socket.write(message);
    }
    await expect.poll(() => refused).toBeGreaterThan(flood / 4);
    for (let index = 0; index < 20; index++) expect((await tenants.server.call('/api/v1/namespaces/default')).code).toBe(200);
    expect(begun).toBeLessThan(flood / 2);
  });
});

/** The first message of a handshake. It costs its sender nothing to repeat it. */
async function firstMessage(): Promise<Buffer> {
  await using trap = createServer();
  await once(trap.listen(0, '127.0.0.1'), 'listening');
  const client = connectTls({ host: '127.0.0.1', port: (trap.address() as AddressInfo).port });
  client.on('error', () => {});
  const [accepted] = (await once(trap, 'connection')) as [Socket];
  const [message] = (await once(accepted, 'data')) as [Buffer];
  client.destroy();
  accepted.destroy();
  return message;
}
