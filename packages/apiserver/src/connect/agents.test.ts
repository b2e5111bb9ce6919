import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  type AnsweringTunnel,
  answerTunnel,
  type ChannelMessage,
  channel,
  FramedChannels,
  openTunnel,
  SpdyClientChannels,
  SpdyConnection,
  type Tunnel,
  type TunnelRequest,
  tunnelledPortForwardProtocol,
} from '@capstan/streams';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { type Reply, startTestServer, type TestServer, type Upgraded } from '../testing/harness.ts';

let server: TestServer;
let tunnel: Tunnel;
let agent: AnsweringTunnel;
const asked: TunnelRequest[] = [];
const pods = '/api/v1/namespaces/default/pods';
const tunnelledHandshake = {
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  'sec-websocket-protocol': tunnelledPortForwardProtocol,
};
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

/** A node agent that repeats what it is sent. */
async function answer(request: TunnelRequest): Promise<void> {
  asked.push(request);
  const { pathname, searchParams } = new URL(request.path, 'http://node');
  if (pathname.endsWith('/broken')) {
    request.respond(404).end(JSON.stringify({ kind: 'Status', reason: 'NotFound', message: 'no such container' }));
  } else if (pathname.endsWith('/silent')) request.respond(200).end();
  else if (pathname.startsWith('/logs/')) request.respond(200).end('a line\n');
  else if (pathname.startsWith('/exec/')) {
    const channels = new FramedChannels(request.respond(200));
    channels.on('error', () => {});
    channels.on('data', (message: ChannelMessage) => {
      if (message.channel === channel.stdin) channels.write({ channel: channel.stdout, payload: message.payload });
      if (message.channel !== channel.close) return;
      channels.write({ channel: channel.error, payload: Buffer.from('{"metadata":{},"status":"Success"}') });
      channels.end();
    });
  } else if (pathname.startsWith('/portforward/')) {
    if (searchParams.get('port') === '1') return void request.respond(502).end('connection refused');
    const stream = request.respond(200);
    stream.pipe(stream);
  } else if (pathname.endsWith('/change')) {
    const stream = request.respond(200, { 'capstan-upgraded': 'true' });
    stream.pipe(stream);
  } else {
    const stream = request.respond(200, { 'content-type': 'text/plain', 'x-answer': 'yes' });
    stream.end(`${request.method} ${request.path} ${await text(stream)}`);
  }
}

beforeAll(async () => {
  const [near, far] = duplexPair();
  [tunnel, agent] = await Promise.all([openTunnel(near), answerTunnel(far, { handle: answer })]);
  server = await startTestServer({
    tunnels: { to: (node) => (node === 'gpu1' ? tunnel : undefined) },
    nodeSubresources: [
      {
        group: 'coordination.k8s.io',
        resource: 'leases',
        subresource: 'metrics',
        methods: ['GET'],
        target: (object, cluster) =>
          cluster === 'root' && object.metadata.name === 'gpu1' ? { node: 'gpu1', path: '/metrics' } : undefined,
      },
    ],
  });
  const containers = [
    { name: 'main', image: 'x', ports: [{ containerPort: 8080 }] },
    { name: 'broken', image: 'x' },
    { name: 'silent', image: 'x' },
  ];
  const annotations = { 'kubectl.kubernetes.io/default-container': 'main' };
  await server.call(pods, { method: 'POST', body: { metadata: { name: 'job', annotations }, spec: { nodeName: 'gpu1', containers } } });
  for (const name of ['gpu1', 'other']) await server.call(leases, { method: 'POST', body: { metadata: { name } } });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  tunnel.destroy();
  agent.destroy();
});

function upgraded(reply: Upgraded | Reply): Upgraded {
  if (!('socket' in reply)) throw new Error(`refused with ${reply.code}: ${reply.text}`);
  return reply;
}

const openWebSocket = (path: string, protocol: string): WebSocket =>
  new WebSocket(`${server.url.replace('https', 'wss')}${path}`, [protocol], server.identity);

async function settled(): Promise<void> {
  while (agent.openStreams > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('a pod on a node that has dialled in', () => {
  test('has logs, and the node learns who asked', async () => {
    expect((await server.call(`${pods}/job/log?tailLines=5`)).text).toBe('a line\n');
    expect(asked.at(-1)!.path).toBe('/logs/root/default/job/main?tailLines=5');
    expect(asked.at(-1)!.headers['capstan-user']).toBe('kubernetes-admin');
  });

  test('may have said nothing yet', async () => {
    const reply = await server.call(`${pods}/job/log?container=silent`);
    expect([reply.code, reply.text]).toEqual([200, '']);
  });

  test('can be followed before it exists, by clients that say so', async () => {
    const path = `${pods}/soon/log?follow=true`;
    expect((await server.call(path)).code).toBe(404);
    const awaited = [server.call(`${path}&awaitStart=true`), server.call(`${path}&awaitStart=true`)];
    const spec = { nodeName: 'gpu1', containers: [{ name: 'main', image: 'x' }] };
    expect((await server.call(pods, { method: 'POST', body: { metadata: { name: 'soon' }, spec } })).code).toBe(201);
    for (const { text: log } of await Promise.all(awaited)) expect(log).toBe('a line\n');
    // Only the pods of units tell which start they show.
    expect(asked.at(-1)!.path).toBe('/logs/root/default/soon/main?follow=true');
  });

  test('refuses with a Status, which the client gets', async () => {
    const reply = await server.call(`${pods}/job/log?container=broken`);
    expect([reply.code, reply.json().reason, reply.json().message]).toEqual([404, 'NotFound', 'no such container']);
  });

  test('runs commands for SPDY clients', async () => {
    const path = `${pods}/job/exec?stdin=1&stdout=1&command=cat&command=a%20b`;
    const headers = { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' };
    const { socket } = upgraded(await server.upgrade(path, { headers }));
    expect(asked.at(-1)!.path).toBe('/exec/root/default/job/main?command=cat&command=a+b&stdin=true&stdout=true');
    const options = { stdin: true, stdout: true, stderr: false, tty: false };
    const channels = new SpdyClientChannels(new SpdyConnection(socket, { role: 'client' }), options);
    channels.write({ channel: channel.stdin, payload: Buffer.from('hello') });
    channels.write({ channel: channel.close, payload: Buffer.from([channel.stdin]) });
    const received: string[] = [];
    for await (const { channel: number, payload } of channels as AsyncIterable<ChannelMessage>)
      received.push(`${number}${payload.toString()}`);
    expect(received).toEqual(['1hello', '3{"metadata":{},"status":"Success"}']);
    await settled();
  });

  test('runs commands for WebSocket clients, until they leave', async () => {
    const webSocket = openWebSocket(`${pods}/job/exec?stdin=1&stdout=1&command=cat`, 'v5.channel.k8s.io');
    const messages: string[] = [];
    webSocket.on('message', (data: Buffer) => messages.push(data.toString()));
    await once(webSocket, 'open');
    webSocket.send(Buffer.from('\0hello'));
    while (messages.length < 2) await once(webSocket, 'message');
    expect(messages).toEqual(['\x01', '\x01hello']);
    webSocket.terminate();
    await settled();
  });

  test('rejects clients of unknown protocols as Kubernetes does', async () => {
    const headers = { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v9.channel.k8s.io' };
    const reply = (await server.upgrade(`${pods}/job/exec?stdout=1`, { headers })) as Reply;
    expect([reply.code, reply.json().message]).toEqual([
      403,
      'unable to upgrade: unable to negotiate protocol: client supports [v9.channel.k8s.io], server accepts [v5.channel.k8s.io v4.channel.k8s.io v3.channel.k8s.io v2.channel.k8s.io channel.k8s.io]',
    ]);
    const none = (await server.upgrade(`${pods}/job/exec?command=ls`, { headers })) as Reply;
    expect(none.json().message).toBe('you must specify at least 1 of stdin, stdout, stderr');
  });

  test('changes protocols in a proxy, also with POST, and keeps the tunnel', async () => {
    for (const method of ['GET', 'POST']) {
      const headers = { upgrade: 'SPDY/3.1' };
      const { socket } = upgraded(await server.upgrade(`${pods}/job:8080/proxy/change`, { method, headers }));
      socket.write('ping');
      expect(String((await once(socket, 'data'))[0])).toBe('ping');
      socket.destroy();
      await settled();
      expect(tunnel.isOpen).toBe(true);
    }
  });

  test('forwards ports over SPDY', async () => {
    const path = `${pods}/job/portforward`;
    const headers = { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'portforward.k8s.io' };
    const { socket } = upgraded(await server.upgrade(path, { headers }));
    const connection = new SpdyConnection(socket, { role: 'client' });
    const open = (port: string, requestid: string) => ({
      error: connection.open({ streamtype: 'error', port, requestid }),
      data: connection.open({ streamtype: 'data', port, requestid }),
    });
    const good = open('80', '0');
    good.data.end('hello');
    expect([await text(good.data), await text(good.error)]).toEqual(['hello', '']);
    expect(await text(open('1', '1').error)).toBe('node gpu1 answered with 502: connection refused');
    connection.close();
    await settled();
  });

  test('forwards ports over SPDY in a WebSocket, whose protocol has a name that is not a token', async () => {
    const { socket, headers } = upgraded(await server.upgrade(`${pods}/job/portforward`, { method: 'GET', headers: tunnelledHandshake }));
    expect(headers['sec-websocket-protocol']).toBe(tunnelledPortForwardProtocol);
    const ping = Buffer.from('800300060000000400000001', 'hex');
    socket.write(Buffer.concat([Buffer.from([0x82, 0x80 | ping.length, 0, 0, 0, 0]), ping]));
    expect((await once(socket, 'data'))[0]).toEqual(Buffer.concat([Buffer.from([0x82, ping.length]), ping]));
    socket.destroy();
    await settled();
  });

  test.each(['GET', 'HEAD'])('is reached with a %s that has a body, which tunnels do not carry', async (method) => {
    const reply = await server.call(`${pods}/job/proxy/a`, { method, body: 'body' });
    expect([reply.code, reply.headers['x-answer']]).toEqual([200, 'yes']);
  });

  test('is reached through its proxy, and no other pod is', async () => {
    const reply = await server.call(`${pods}/job/proxy/a%20b?c=d`, { method: 'PUT', body: 'body' });
    expect([reply.text, reply.headers['x-answer']]).toEqual(['PUT /proxy/root/default/job/8080/a%20b?c=d body', 'yes']);
    const escaping = await server.call(`${pods}/job/proxy/..%2f..%2fother/80/x`);
    expect([escaping.code, escaping.json().message]).toEqual([400, 'the path leads out of the proxy']);
  });
});

describe('a pod in the workspace of a tenant', () => {
  const inside = '/clusters/tenant';

  beforeAll(async () => {
    const metadata = { name: 'cluster', annotations: { 'internal.tenancy.kcp.io/type': 'root:project' } };
    const body = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata };
    await server.call(`${inside}/apis/core.kcp.io/v1alpha1/logicalclusters`, { method: 'POST', body });
    for (const [name, nodeName] of [
      ['job', 'gpu1'],
      ['forged', 'n1'],
    ]) {
      const pod = { metadata: { name }, spec: { nodeName, containers: [{ name: 'main', image: 'x' }] } };
      const made = await server.call(`${inside}${pods}`, { method: 'POST', body: pod });
      const live = { ...made.json(), status: { podIP: '192.0.2.1', podIPs: [{ ip: '192.0.2.1' }] } };
      await server.call(`${inside}${pods}/${name}/status`, { method: 'PUT', body: live });
    }
    // A node of the root workspace, at an address that would be dialled from there.
    await server.call('/api/v1/nodes', { method: 'POST', body: { metadata: { name: 'n1' } } });
  });

  test('is found on its node by the id of the workspace', async () => {
    expect((await server.call(`${inside}${pods}/job/log`)).text).toBe('a line\n');
    expect(asked.at(-1)!.path).toBe('/logs/tenant/default/job/main?');
    const reply = await server.call(`${inside}${pods}/job:80/proxy/x`);
    expect(reply.text).toBe('GET /proxy/tenant/default/job/80/x ');
  });

  test('leads to no node of the root workspace, and to no address', async () => {
    const log = await server.call(`${inside}${pods}/forged/log`);
    expect([log.code, log.json().message]).toEqual([404, 'pods "n1" not found']);
    const proxied = await server.call(`${inside}${pods}/forged:80/proxy/`);
    expect([proxied.code, proxied.json().message]).toEqual([
      503,
      'no node of this workspace is connected; the server dials only addresses of the root workspace',
    ]);
  });
});

describe('in the workspace of a tenant that serves nodes and services', () => {
  const nodes = (tenant: string): string => `/clusters/${tenant}/api/v1/nodes`;

  beforeAll(async () => {
    const annotations = { 'capstan.dev/built-in-kinds': '*' };
    const type = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'WorkspaceType', metadata: { name: 'whole', annotations } };
    const body = { ...type, spec: { extend: { with: [{ name: 'universal', path: 'root' }] } } };
    await server.call('/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspacetypes', { method: 'POST', body });
    for (const tenant of ['first', 'second']) {
      const metadata = { name: 'cluster', annotations: { 'internal.tenancy.kcp.io/type': 'root:whole' } };
      const cluster = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata };
      await server.call(`/clusters/${tenant}/apis/core.kcp.io/v1alpha1/logicalclusters`, { method: 'POST', body: cluster });
      for (const name of ['gpu1', 'n1']) {
        const made = await server.call(nodes(tenant), { method: 'POST', body: { metadata: { name } } });
        expect(made.code).toBe(201);
      }
    }
  });

  test.each([
    ['first', 'GET', 'gpu1', 'units/usage'],
    ['second', 'GET', 'gpu1', 'units/usage'],
    ['second', 'GET', 'gpu1', 'metrics'],
    ['second', 'PUT', 'gpu1', 'units/train-1/secrets'],
    ['second', 'PUT', 'https:gpu1:10250', 'units/train-1/secrets'],
    ['second', 'GET', 'n1', 'units/usage'],
  ])('a node of %s leads to no agent and no kubelet with its name: %s %s/proxy/%s', async (tenant, method, name, path) => {
    const before = asked.length;
    const reply = await server.call(`${nodes(tenant)}/${name}/proxy/${path}`, { method, ...(method === 'PUT' && { body: '{}' }) });
    expect([reply.code, reply.json().message]).toEqual([
      503,
      `node ${name.split(':')[1] ?? name} has no proxy: the server dials only nodes of the root workspace`,
    ]);
    const headers = { upgrade: 'SPDY/3.1' };
    expect((await server.upgrade(`${nodes(tenant)}/${name}/proxy/${path}`, { headers })).code).toBe(503);
    expect(asked.length).toBe(before);
  });

  test('a service leads to its pods through their agents, also when protocols change', async () => {
    const base = '/clusters/first/api/v1/namespaces/default';
    const create = async (path: string, body: object): Promise<void> => {
      const made = await server.call(`${base}/${path}`, { method: 'POST', body });
      expect([made.code, made.text]).toEqual([201, expect.any(String)]);
    };
    await create('pods', { metadata: { name: 'job' }, spec: { nodeName: 'gpu1', containers: [{ name: 'main', image: 'x' }] } });
    await create('services', { metadata: { name: 'job' }, spec: { ports: [{ port: 80 }] } });
    const addresses = [{ ip: '192.0.2.1', targetRef: { kind: 'Pod', name: 'job', namespace: 'default' } }];
    await create('endpoints', { metadata: { name: 'job' }, subsets: [{ addresses, ports: [{ port: 8080 }] }] });
    expect((await server.call(`${base}/services/job/proxy/x`)).text).toBe('GET /proxy/first/default/job/8080/x ');
    const { socket } = upgraded(await server.upgrade(`${base}/services/job/proxy/change`, { headers: tunnelledHandshake, method: 'GET' }));
    socket.write('ping');
    expect(String((await once(socket, 'data'))[0])).toBe('ping');
    socket.destroy();
    await settled();
  });
});

describe('subresources of our own kinds that nodes serve', () => {
  test('are answered by the node of the object', async () => {
    const reply = await server.call(`${leases}/gpu1/metrics?a=1`);
    expect([reply.code, reply.text]).toEqual([200, 'GET /node/metrics?a=1 ']);
  });

  test.each([
    [`${leases}/other/metrics`, 'GET', 503, 'leases/metrics needs the node of other, which is not connected'],
    [`${leases}/none/metrics`, 'GET', 404, 'leases.coordination.k8s.io "none" not found'],
    [`${leases}/gpu1/metrics`, 'POST', 405, 'the server does not allow this method on the requested resource'],
  ])('%s with %s: %d %s', async (path, method, code, message) => {
    const reply = await server.call(path, { method });
    expect([reply.code, reply.json().message]).toEqual([code, message]);
  });
});

test('a node whose tunnel breaks is reported, and its streams end', async () => {
  const webSocket = openWebSocket(`${pods}/job/exec?stdin=1&stdout=1&command=cat`, 'v5.channel.k8s.io');
  const messages: Buffer[] = [];
  webSocket.on('message', (data: Buffer) => messages.push(data));
  await once(webSocket, 'open');
  agent.destroy();
  tunnel.destroy();
  await once(webSocket, 'close');
  expect([messages.at(-1)![0], JSON.parse(messages.at(-1)!.subarray(1).toString())]).toMatchObject([3, { status: 'Failure' }]);
  const reply = await server.call(`${pods}/job/log`);
  expect([reply.code, reply.json().message]).toEqual([503, expect.stringMatching(/^node gpu1 cannot be reached: /)]);
});
