import { readFile } from 'node:fs/promises';
import { connect } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
const path = '/api/v1/namespaces/default/configmaps';
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

describe('bodies', () => {
  test('larger than three megabytes are rejected, and nothing is stored', async () => {
    const reply = await server.call(path, { method: 'POST', body: { metadata: { name: 'huge' }, data: { a: 'x'.repeat(3 << 20) } } });
    expect([reply.code, reply.json().reason]).toEqual([413, 'RequestEntityTooLarge']);
    expect((await server.call(`${path}/huge`)).code).toBe(404);
  });

  test('nested too deeply are rejected', async () => {
    const reply = await server.call(path, { method: 'POST', body: `{"metadata":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}` });
    expect([reply.code, reply.json().reason]).toEqual([400, 'BadRequest']);
  });

  test('that end early change nothing, and the server keeps running', async () => {
    const { hostname, port } = new URL(server.url);
    const socket = connectTls({ host: hostname, port: Number(port), rejectUnauthorized: false });
    await new Promise((resolve) => socket.once('secureConnect', resolve));
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"metadata"`);
    socket.destroy();
    expect((await server.call('/livez')).text).toBe('ok');
  });

  test('of an unsupported type are rejected by name', async () => {
    const reply = await server.call(path, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' });
    expect(reply.code).toBe(415);
    expect(reply.json().message).toContain('application/vnd.kubernetes.protobuf');
  });

  test('with keys of JavaScript objects are ordinary data', async () => {
    const data = '{"__proto__":"a","constructor":"b","toString":"c"}';
    const made = await server.call(path, { method: 'POST', body: `{"metadata":{"name":"proto"},"data":${data}}` });
    expect(made.code).toBe(201);
    expect((await server.call(`${path}/proto`)).text).toContain('"__proto__":"a"');
    expect(({} as Record<string, unknown>)['a']).toBeUndefined();
  });
});

describe('responses', () => {
  test('are compressed if they are long and the client accepts that', async () => {
    const { hostname, port } = new URL(server.url);
    const kubeconfig = await readFile(server.kubeconfigPath, 'utf8');
    const pem = (name: string): Buffer => Buffer.from(new RegExp(`${name}: "?([^"\\s]+)`).exec(kubeconfig)![1]!, 'base64');
    const session = connect(`https://${hostname}:${port}`, {
      ca: pem('certificate-authority-data'),
      cert: pem('client-certificate-data'),
      key: pem('client-key-data'),
    });
    const stream = session.request({ ':path': '/openapi/v3/api/v1', 'accept-encoding': 'gzip' });
    const chunks: Buffer[] = [];
    let headers: Record<string, unknown> = {};
    stream.on('response', (received) => {
      headers = received;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    await new Promise((resolve) => stream.on('end', resolve));
    session.close();
    expect([headers[':status'], headers['content-encoding']]).toEqual([200, 'gzip']);
    expect(JSON.parse(gunzipSync(Buffer.concat(chunks)).toString()).openapi).toBe('3.0.0');
  });

  test('of aggregated discovery have an ETag, and are not sent again to clients that have them', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const first = await server.call('/apis', { headers: { accept } });
    expect(first.headers['content-type']).toBe(accept);
    const again = await server.call('/apis', { headers: { accept, 'if-none-match': String(first.headers['etag']) } });
    expect([again.code, again.text]).toEqual([304, '']);
  });

  test('are indented for people', async () => {
    expect((await server.call(`${path}?limit=1&pretty=true`)).text).toContain('\n  "kind": "ConfigMapList"');
    const headers = { 'user-agent': 'curl/8' };
    expect((await server.call(`${path}?limit=1`, { headers })).text).toContain('\n  "kind": "ConfigMapList"');
    expect((await server.call('/version')).text).toContain('\n  "major": "1"');
  });
});

describe('identity', () => {
  test('proxy headers are ignored', async () => {
    const reply = await server.call(path, {
      anonymous: true,
      headers: { 'x-remote-user': 'kubernetes-admin', 'x-remote-group': 'system:masters' },
    });
    expect(reply.code).toBe(403);
    expect(reply.json().message).toContain('User "system:anonymous" cannot list');
  });

  test('an invalid token is not an anonymous request', async () => {
    const reply = await server.call('/version', { anonymous: true, headers: { authorization: 'Bearer nope' } });
    expect(reply.code).toBe(401);
  });

  test('health and version are available to everybody', async () => {
    for (const page of ['/livez', '/readyz', '/version']) expect((await server.call(page, { anonymous: true })).code).toBe(200);
    expect((await server.call('/metrics', { anonymous: true })).code).toBe(403);
  });

  test('the audit log has every denial and every write, and no secret', async () => {
    await server.call('/api/v1/namespaces/default/secrets', {
      method: 'POST',
      body: { metadata: { name: 's' }, stringData: { p: 'hunter2' } },
    });
    await server.call(`${path}/denied`, { anonymous: true });
    await expect
      .poll(() => readFile(`${server.directory}/audit.log`, 'utf8'))
      .toMatch(/"\/api\/v1\/namespaces\/default\/configmaps\/denied"/);
    const log = await readFile(`${server.directory}/audit.log`, 'utf8');
    const events = log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.some((event) => event.verb === 'create' && event.objectRef?.resource === 'secrets')).toBe(true);
    expect(events.find((event) => event.objectRef?.name === 'denied').responseStatus.code).toBe(403);
    expect(log).not.toContain('hunter2');
  });
});

test('requests are counted by resource, never by name', async () => {
  await server.call(`${path}/some-name`);
  await server.call(path);
  const { text } = await server.call('/metrics');
  expect(text).toMatch(/apiserver_cache_list_total\{group="",index="",resource="configmaps"\} \d+/);
  expect(text).toMatch(/apiserver_request_total\{verb="GET",group="",resource="configmaps",subresource="",code="404"\} \d+/);
  expect(text).not.toContain('some-name');
});
