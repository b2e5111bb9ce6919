import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { FakeKubelet } from '@capstan/streams/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';
import { createNodeAndPod, startKubelet } from './testing.ts';

/** Connections to kubelets are kept for the next request, of whomever. */
let server: TestServer;
let kubelet: FakeKubelet;
const pods = '/api/v1/namespaces/default/pods';
const spdy = { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' };

beforeAll(async () => {
  server = await startTestServer();
  kubelet = await startKubelet(server);
  await createNodeAndPod(server, kubelet);
});
afterAll(async () => {
  await kubelet[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

describe('the body of a GET', () => {
  const path = '/api/v1/nodes/n1/proxy/read';
  const looksLikeRequest = 'POST /write HTTP/1.1\r\nHost: kubelet\r\nContent-Length: 2\r\n\r\nhi';

  test.each([
    ['in chunks', { 'transfer-encoding': 'chunked' }],
    ['with its length', { 'content-length': looksLikeRequest.length }],
    ['with a length that is said to be for one connection', { 'content-length': looksLikeRequest.length, connection: 'content-length' }],
  ])('%s is never a request of its own for the target', async (_, headers) => {
    const before = kubelet.requests.length;
    const sent = request(`${server.url}${path}`, { ...server.identity, agent: false, headers }).end(looksLikeRequest);
    const [reply] = (await once(sent, 'response')) as [IncomingMessage];
    expect(JSON.parse(await text(reply))).toMatchObject({ method: 'GET', url: '/read', body: looksLikeRequest });
    await server.call('/api/v1/nodes/n1/proxy/last');
    expect(kubelet.requests.slice(before).map(({ url }) => url)).toEqual(['/read', '/last']);
  });

  test('over HTTP/2 is never a request of its own for the target', async () => {
    const before = kubelet.requests.length;
    const session = connectHttp2(server.url, server.identity);
    const stream = session.request({ ':path': path }, { endStream: false });
    stream.end(looksLikeRequest);
    expect(JSON.parse(await text(stream))).toMatchObject({ method: 'GET', url: '/read', body: looksLikeRequest });
    await server.call('/api/v1/nodes/n1/proxy/last');
    expect(kubelet.requests.slice(before).map(({ url }) => url)).toEqual(['/read', '/last']);
    session.close();
  });
});

describe('a connection that the kubelet closes just when it is used again', () => {
  beforeAll(() => {
    kubelet.closesIdle = true;
  });
  afterAll(() => {
    kubelet.closesIdle = false;
  });

  test('is replaced for reads', async () => {
    for (let round = 0; round < 3; round++) {
      expect((await server.call(`${pods}/web/log?tailLines=1`)).text).toBe('second line\n');
      expect((await server.call('/api/v1/nodes/n1/proxy/read')).code).toBe(200);
      expect((await server.call('/api/v1/nodes/n1/proxy/read', { method: 'HEAD' })).code).toBe(200);
    }
  });

  test('fails a write, which is never sent again', async () => {
    await server.call('/api/v1/nodes/n1/proxy/read');
    const before = kubelet.requests.length;
    const reply = await server.call('/api/v1/nodes/n1/proxy/write', { method: 'POST', body: 'once' });
    expect([reply.code, reply.json().message]).toEqual([500, 'error dialing backend: EOF']);
    expect(kubelet.requests.slice(before)).toEqual([]);
  });

  test('is never used for a command', async () => {
    for (let round = 0; round < 3; round++) {
      await server.call('/api/v1/nodes/n1/proxy/read');
      const reply = await server.upgrade(`${pods}/web/exec?command=true&stdout=1`, { headers: spdy });
      expect(reply.code).toBe(101);
      if ('socket' in reply) reply.socket.destroy();
    }
  });
});
