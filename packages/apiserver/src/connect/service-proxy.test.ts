import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

/** Kubernetes does not proxy to loopback addresses, so the backend listens on another one. */
const address = Object.values(networkInterfaces())
  .flat()
  .find((one) => one !== undefined && !one.internal && one.family === 'IPv4' && !one.address.startsWith('169.254.'))?.address;
if (address === undefined) process.stderr.write('skipped proxies of services and pods: this machine has no address but loopback\n');

describe.skipIf(address === undefined)('proxies of services and pods', () => {
  let server: TestServer;
  let backend: Server;
  const base = '/api/v1/namespaces/default';

  beforeAll(async () => {
    server = await startTestServer();
    const used = new WeakSet<Socket>();
    backend = createServer((request, response) => {
      request.resume();
      // As if it had just closed the idle connection.
      if (request.url === '/idle' && used.has(request.socket)) return void request.socket.destroy();
      used.add(request.socket);
      if (request.url === '/page')
        return void response.writeHead(200, { 'content-type': 'text/html' }).end('<a href="/rewriteme">test</a>');
      if (request.url === '/redirect') response.writeHead(302, { location: '/new' });
      response.end(`${request.method} ${request.url} for ${request.headers.host}`);
    });
    await once(backend.listen(0, address), 'listening');
    const { port } = backend.address() as AddressInfo;
    const create = async (path: string, body: object): Promise<void> => {
      const reply = await server.call(`${base}${path}`, { method: 'POST', body });
      if (reply.code !== 201) throw new Error(reply.text);
    };
    const containers = [{ name: 'main', image: 'x', ports: [{ containerPort: port }] }];
    await create('/pods', { metadata: { name: 'web' }, spec: { containers } });
    const live = (await server.call(`${base}/pods/web`)).json();
    await server.call(`${base}/pods/web/status`, {
      method: 'PUT',
      body: { ...live, status: { podIP: address, podIPs: [{ ip: address }] } },
    });
    await create('/services', {
      metadata: { name: 'web' },
      spec: {
        ports: [
          { name: 'http', port: 80 },
          { name: 'other', port: 81 },
        ],
      },
    });
    await create('/endpoints', { metadata: { name: 'web' }, subsets: [{ addresses: [{ ip: address }], ports: [{ name: 'http', port }] }] });
  });
  afterAll(async () => {
    backend.close();
    await server[Symbol.asyncDispose]();
  });

  test.each(['services/web:http', 'services/web:80', 'services/http:web:80', 'pods/web'])('%s', async (name) => {
    const reply = await server.call(`${base}/${name}/proxy/a%2Fb/?c=%20`, { method: 'DELETE' });
    const { port } = backend.address() as AddressInfo;
    expect([reply.code, reply.text]).toEqual([200, `DELETE /a%2Fb/?c=%20 for ${address}:${port}`]);
  });

  test('a read on a connection that the target has just closed is sent again, and a write is not', async () => {
    await server.call(`${base}/services/web:80/proxy/x`);
    expect((await server.call(`${base}/services/web:80/proxy/idle`)).code).toBe(200);
    expect((await server.call(`${base}/services/web:80/proxy/idle`, { method: 'POST' })).code).toBe(503);
  });

  test('HEAD has no body, and redirects stay in the proxy', async () => {
    const head = await server.call(`${base}/services/web:80/proxy/x`, { method: 'HEAD' });
    expect([head.code, head.text]).toEqual([200, '']);
    const redirect = await server.call(`${base}/services/web:80/proxy/redirect`);
    expect([redirect.code, redirect.headers['location']]).toEqual([302, `${base}/services/web:80/proxy/new`]);
  });

  test.each(['services/web:80', 'pods/web'])('links in a page of %s lead through the proxy', async (name) => {
    const reply = await server.call(`${base}/${name}/proxy/page`);
    expect([reply.code, reply.text]).toEqual([200, `<a href="${base}/${name}/proxy/rewriteme">test</a>`]);
  });

  test.each([
    ['services/web:81', 503, 'no endpoints available for service "web"'],
    ['services/web', 503, 'no endpoints available for service "web"'],
    ['pods/web:1', 503, `error trying to reach service: dial tcp ${address}:1: connect: connection refused`],
    ['pods/web:http', 400, 'expected the number of a port, found "http"'],
  ])('%s: %d %s', async (name, code, message) => {
    const reply = await server.call(`${base}/${name}/proxy/`);
    expect([reply.code, reply.json().message]).toEqual([code, message]);
  });
});
