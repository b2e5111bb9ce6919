import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type AnsweringTunnel, answerTunnel, dialTunnel, openTunnel, TunnelKeeper } from '@capstan/streams';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Agent, createPlatform, enrolled, fleetPath, newKey, renew, renewed } from '../node-agents/testing/fleet.ts';
import { startTestServer, type TestServer } from '../testing/harness.ts';
import { Relays } from './relays.ts';

const forever = new AbortController().signal;
let server: TestServer;
let relays: Relays;

beforeAll(async () => {
  server = await startTestServer();
  await createPlatform(server);
  relays = new Relays({ others: () => [{ name: 'a', url: server.url }], tls: serverTls, missFor: 0 });
});
afterAll(async () => {
  await relays[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const pem = (name: string): string => readFileSync(join(server.directory, 'pki', name), 'utf8');
const serverTls = () => ({ ca: pem('ca.crt'), cert: pem('apiserver-client.crt'), key: pem('apiserver-client.key') });
const dial = ({ certificate, key }: Pick<Agent, 'certificate' | 'key'>, path?: string) =>
  dialTunnel({
    url: server.url,
    tls: { ca: pem('ca.crt'), cert: certificate, key: key.export({ type: 'pkcs8', format: 'pem' }) as string },
    signal: forever,
    ...(path !== undefined && { path }),
  });

/** Answers every request with its name. */
async function tunnelOf(agent: Agent, name = agent.node): Promise<AnsweringTunnel> {
  const tunnel = await answerTunnel(await dial(agent), {
    grace: 50,
    handle: (request) => {
      const stream = request.respond(200, { 'x-name': name, 'x-path': request.path, 'capstan-relay': 'no-tunnel' });
      if (request.method === 'GET') stream.end(name);
      else stream.pipe(stream);
    },
  });
  return tunnel;
}

/** Asks the server for a node as another server would. */
async function reached(node: string): Promise<string | undefined> {
  const connection = await relays.find(node);
  if (connection === undefined) return undefined;
  const { stream } = await connection.request({ method: 'GET', path: '/x', signal: forever });
  return text(stream);
}

const tunnels = async (): Promise<number> => Number(/^capstan_node_tunnels (\d+)/m.exec((await server.call('/metrics')).text)?.[1]);

test('the output of units in the store of a server is there for other servers', async () => {
  const folder = join(server.directory, 'logs/tenant/default/uid-1/n1/0');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, '0000000000000000.log'), '2026-01-01T00:00:01Z stdout F one\n2026-01-01T00:00:02Z stdout F two\n');
  const read = async (path: string): Promise<string | undefined> => {
    const stream = await relays.log(path, forever);
    return stream && text(stream);
  };
  expect(await read('tenant/default/uid-1/n1?tailLines=1')).toBe('two\n');
  expect(await read('tenant/default/uid-1/n1')).toBe('one\ntwo\n');
  for (const path of ['other/default/uid-1/n1', 'tenant/default', '..%2f../default/uid-1/n1', '%'])
    expect(await read(path)).toBeUndefined();
});

describe('a tunnel', () => {
  test('leads to its node, also from other servers', async () => {
    const agent = await enrolled(server, 'a');
    expect(await reached('a')).toBeUndefined();
    const tunnel = await tunnelOf(agent);
    await vi.waitFor(async () => expect(await reached('a')).toBe('a'));
    expect(await tunnels()).toBe(1);
    const connection = (await relays.find('a'))!;
    const { status, headers, stream } = await connection.request({ method: 'POST', path: '/exec/c/n/p?x=1', signal: forever });
    expect([status, headers['x-path']]).toEqual([200, '/exec/c/n/p?x=1']);
    stream.end('both ways');
    expect(await text(stream)).toBe('both ways');
    await tunnel[Symbol.asyncDispose]();
    await vi.waitFor(async () => expect(await reached('a')).toBeUndefined());
    expect(await tunnels()).toBe(0);
  });

  test('carries the streams of pods on its node', async () => {
    const tunnel = await tunnelOf(await enrolled(server, 'pods'));
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { nodeName: 'pods', containers: [{ name: 'c', image: 'i' }] },
    };
    expect((await server.call('/api/v1/namespaces/default/pods', { method: 'POST', body: pod })).code).toBe(201);
    const log = await server.call('/api/v1/namespaces/default/pods/p/log');
    expect([log.code, log.text]).toEqual([200, 'pods']);
    tunnel.destroy();
  });

  test('replaces an earlier one of the same node, whose streams may finish', async () => {
    const agent = await enrolled(server, 'b');
    const first = await tunnelOf(agent, 'first');
    await vi.waitFor(async () => expect(await reached('b')).toBe('first'));
    const { stream } = await (await relays.find('b'))!.request({ method: 'POST', path: '/', signal: forever });
    const second = await tunnelOf(await renewed(server, agent), 'second');
    await first.ended;
    await vi.waitFor(async () => expect(await reached('b')).toBe('second'));
    stream.end('still there');
    expect(await text(stream)).toBe('still there');
    await first.closed;
    second.destroy();
  });

  test.each(['removed', 'locked'])('ends with its streams when its node is %s', async (how) => {
    const node = `c-${how}`;
    const agent = await enrolled(server, node);
    const tunnel = await tunnelOf(agent);
    await vi.waitFor(async () => expect(await reached(node)).toBe(node));
    const { stream } = await (await relays.find(node))!.request({ method: 'POST', path: '/', signal: forever });
    const ended = new Promise((resolve) => stream.once('close', resolve));
    if (how === 'removed') await server.call(`${fleetPath}/gpunodes/${node}`, { method: 'DELETE' });
    else {
      await renewed(server, agent);
      await renew(server, agent, newKey());
    }
    await tunnel.closed;
    await ended;
    expect(await reached(node)).toBeUndefined();
    await expect(dial(agent)).rejects.toMatchObject({ code: 'refused', status: 401 });
  });

  test('is refused to everybody who is no agent', async () => {
    const admin = { cert: pem('admin.crt'), key: pem('admin.key') };
    const opening = dialTunnel({ url: server.url, tls: { ca: pem('ca.crt'), ...admin }, signal: forever });
    await expect(opening).rejects.toMatchObject({ code: 'refused', status: 403 });
    await expect(dialTunnel({ url: server.url, tls: serverTls(), signal: forever })).rejects.toMatchObject({ status: 403 });
    expect((await server.call('/capstan/tunnel', { method: 'POST', body: {} })).code).toBe(403);
  });

  test('ends with a server that stops, and the agent dials again', async () => {
    await using another = await startTestServer();
    await createPlatform(another);
    const agent = await enrolled(another, 'd');
    const authority = readFileSync(join(another.directory, 'pki', 'ca.crt'), 'utf8');
    let connected = 0;
    await using _keeper = new TunnelKeeper({
      dial: (signal) => {
        const key = agent.key.export({ type: 'pkcs8', format: 'pem' }) as string;
        return dialTunnel({ url: another.url, tls: { ca: authority, cert: agent.certificate, key }, signal });
      },
      handle: (request) => void request.respond(200).end(),
      backoff: { base: 5, max: 20 },
      onConnected: () => connected++,
    });
    await vi.waitFor(() => expect(connected).toBe(1));
    await another.restart();
    await vi.waitFor(() => expect(connected).toBe(2), 10_000);
  });
});

describe('a relay', () => {
  test('is open to API servers alone', async () => {
    const agent = await enrolled(server, 'e');
    await expect(dial(agent, '/capstan/relay')).rejects.toMatchObject({ code: 'refused', status: 403 });
    const admin = { ca: pem('ca.crt'), cert: pem('admin.crt'), key: pem('admin.key') };
    await expect(dialTunnel({ url: server.url, tls: admin, signal: forever, path: '/capstan/relay' })).rejects.toMatchObject({
      status: 403,
    });
  });

  test('of a server that cannot be reached does not hide the others', async () => {
    const agent = await enrolled(server, 'f');
    const tunnel = await tunnelOf(agent);
    const others = [
      { name: 'gone', url: 'https://127.0.0.1:1' },
      { name: 'a', url: server.url },
    ];
    await using own = new Relays({ others: () => others, tls: serverTls });
    await vi.waitFor(async () => expect(await own.find('f')).toBeDefined(), { interval: 1100, timeout: 10_000 });
    tunnel.destroy();
  });

  test('answers about unknown nodes from memory for a while', async () => {
    let asked = 0;
    const others = () => {
      asked++;
      return [{ name: 'a', url: server.url }];
    };
    let now = 0;
    await using own = new Relays({ others, tls: serverTls, now: () => now, missFor: 100 });
    expect(await own.find('nobody')).toBeUndefined();
    expect(await own.find('nobody')).toBeUndefined();
    expect(asked).toBe(1);
    now = 200;
    expect(await own.find('nobody')).toBeUndefined();
    expect(asked).toBe(2);
  });

  test('serves no requests beside those to nodes', async () => {
    const tunnel = await openTunnel(await dialTunnel({ url: server.url, tls: serverTls(), signal: forever, path: '/capstan/relay' }));
    const { status } = await tunnel.request({ method: 'GET', path: '/api/v1/secrets', signal: forever });
    expect(status).toBe(404);
    tunnel.destroy();
  });
});
