import { expect, test } from 'vitest';
import { ConnectionError } from '../rest/error.ts';
import { scriptedServer } from '../testing/scripted-server.ts';
import { Client } from './client.ts';

const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' } };
const retry = { attempts: 3, longestWait: 5000 };

const refusing = (code: number, times: number, retryAfter?: string) =>
  scriptedServer((_request, response, count) => {
    const refused = count <= times;
    response.writeHead(refused ? code : 200, retryAfter !== undefined && refused ? { 'retry-after': retryAfter } : {});
    response.end(JSON.stringify(refused ? { kind: 'Status', reason: 'Refused', code } : object));
  });

test.each([
  ['a read rejected with 429', 429, 'GET', 2],
  ['a create rejected with 429, which did nothing', 429, 'POST', 2],
  ['a read rejected with 503', 503, 'GET', 2],
  ['a create rejected with 503, which may have begun', 503, 'POST', 1],
] as const)('%s', async (_what, code, method, expected) => {
  await using server = await refusing(code, 1, '0');
  using client = new Client(server.connection, { retry });
  const maps = client.resource(configMaps).in('default');
  await (method === 'GET' ? maps.get('a') : maps.create(object)).catch(() => {});
  expect(server.requests).toHaveLength(expected);
});

test('does not retry if the server does not ask for it', async () => {
  await using server = await refusing(503, 9);
  using client = new Client(server.connection, { retry });
  await expect(client.resource(configMaps).in('default').get('a')).rejects.toMatchObject({ code: 503 });
  expect(server.requests).toHaveLength(1);
});

test('gives up on a server that stays busy', async () => {
  await using server = await refusing(429, 9, '0');
  using client = new Client(server.connection, { retry });
  await expect(client.resource(configMaps).in('default').get('a')).rejects.toMatchObject({ code: 429, reason: 'Refused' });
  expect(server.requests).toHaveLength(3);
});

test('prefixes every path with the path of the server', async () => {
  await using server = await scriptedServer((_request, response) => response.end(JSON.stringify(object)));
  using client = new Client({ ...server.connection, server: `${server.connection.server}/clusters/root:org/` });
  await client.resource(configMaps).in('default').get('a');
  await client.cluster('root:other').resource(configMaps).in('default').get('a');
  expect(server.requests).toEqual([
    'GET /clusters/root:org/api/v1/namespaces/default/configmaps/a',
    'GET /clusters/root:other/api/v1/namespaces/default/configmaps/a',
  ]);
});

test('sends the impersonated user in headers', async () => {
  await using server = await scriptedServer((_request, response) => response.end(JSON.stringify(object)));
  using client = new Client({
    ...server.connection,
    impersonate: { user: 'jane', uid: '7', groups: ['a', 'b'], extra: { 'example.com/team': ['x'] } },
  });
  await client.resource(configMaps).in('default').get('a');
  expect(server.headers[0]).toMatchObject({
    'impersonate-user': 'jane',
    'impersonate-uid': '7',
    'impersonate-group': 'a, b',
    'impersonate-extra-example.com%2fteam': 'x',
  });
});

test('fails if no response arrives', async () => {
  await using server = await scriptedServer(() => {});
  using client = new Client(server.connection, { timeouts: { response: 50 } });
  await expect(client.resource(configMaps).in('default').get('a')).rejects.toMatchObject({ fault: 'response-timeout' });
});

test('fails if a response falls silent', async () => {
  await using server = await scriptedServer((_request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{');
  });
  using client = new Client(server.connection, { timeouts: { idle: 50 } });
  await expect(client.resource(configMaps).in('default').get('a')).rejects.toMatchObject({ fault: 'idle-timeout' });
});

test('fails if a watch falls silent', async () => {
  await using server = await scriptedServer((_request, response) => {
    response.writeHead(200);
    response.write(`${JSON.stringify({ type: 'ADDED', object })}\n`);
  });
  using client = new Client(server.connection);
  const seen: string[] = [];
  const watching = client.resource(configMaps).follow({ idleTimeout: 300 }, ({ type }) => void seen.push(type));
  await expect(watching).rejects.toMatchObject({ fault: 'idle-timeout' });
  expect(seen).toEqual(['ADDED']);
});

test('ends a watch at an error event, with that error', async () => {
  const told = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version: 1 (2)' };
  await using server = await scriptedServer((_request, response) => response.end(`${JSON.stringify({ type: 'ERROR', object: told })}\n`));
  using client = new Client(server.connection);
  const watching = client.resource(configMaps).follow({}, () => {});
  await expect(watching).rejects.toMatchObject({ code: 410, reason: 'Expired' });
});

test('fails if the server cannot be reached', async () => {
  const server = await scriptedServer(() => {});
  await server[Symbol.asyncDispose]();
  using client = new Client(server.connection, { retry: { attempts: 1 } });
  await expect(client.resource(configMaps).list()).rejects.toBeInstanceOf(ConnectionError);
});

test("passes on a proxy's response that is not a Status as text", async () => {
  await using server = await scriptedServer((_request, response) => response.writeHead(502).end('<h1>bad gateway</h1>'));
  using client = new Client(server.connection);
  await expect(client.resource(configMaps).list()).rejects.toMatchObject({
    code: 502,
    message: 'the server answered 502: <h1>bad gateway</h1>',
  });
});

test('ends an aborted call', async () => {
  await using server = await scriptedServer(() => {});
  using client = new Client(server.connection);
  const stop = new AbortController();
  const listing = client.resource(configMaps).list({ signal: stop.signal });
  stop.abort();
  await expect(listing).rejects.toMatchObject({ name: 'AbortError' });
});

test("passes on the server's warnings", async () => {
  await using server = await scriptedServer((_request, response) => {
    response.writeHead(200, { warning: '299 - "v1 is \\"old\\"", 299 - "use v2"' });
    response.end(JSON.stringify(object));
  });
  const warnings: string[] = [];
  using client = new Client(server.connection, { onWarning: (warning) => void warnings.push(warning) });
  await client.resource(configMaps).in('default').get('a');
  expect(warnings).toEqual(['v1 is "old"', 'use v2']);
});

test('asks for another token once after the server rejects one', async () => {
  await using server = await scriptedServer((request, response) => {
    if (request.headers.authorization === 'Bearer new') response.end(JSON.stringify(object));
    else response.writeHead(401).end(JSON.stringify({ kind: 'Status', code: 401, reason: 'Unauthorized' }));
  });
  const tokens = ['old', 'new', 'newer'];
  const credentials = { current: () => ({ authorization: `Bearer ${tokens[0]}` }), refused: () => void tokens.shift() };
  using client = new Client({ ...server.connection, credentials });
  await client.resource(configMaps).in('default').create(object);
  expect(tokens).toEqual(['new', 'newer']);
  tokens[0] = 'stale';
  await expect(client.resource(configMaps).in('default').get('a')).rejects.toMatchObject({ code: 401 });
  expect(server.requests).toHaveLength(4);
});

test('a watch takes a pooled connection that nobody uses, and others get new ones', async () => {
  const connections: (number | undefined)[] = [];
  await using server = await scriptedServer((request, response) => {
    connections.push(request.socket.remotePort);
    if (request.url?.includes('watch=true')) response.writeHead(200).flushHeaders();
    else response.end(JSON.stringify(object));
  });
  using client = new Client(server.connection);
  const maps = client.resource(configMaps).in('default');
  const stop = new AbortController();
  await maps.get('a');
  for (let count = 0; count < 2; count++)
    await new Promise<void>((onOpen) => void maps.follow({ signal: stop.signal, onOpen }, () => {}).catch(() => {}));
  await maps.get('a');
  stop.abort();
  const [first, watch, other, last] = connections;
  expect(watch).toBe(first);
  expect(new Set([first, other, last]).size).toBe(3);
});
