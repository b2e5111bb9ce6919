import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server as HttpServer } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createServer as createNetServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ChannelMessage, channel, SpdyClientChannels, SpdyConnection } from '@capstan/streams';
import type { FakeKubelet } from '@capstan/streams/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { type Reply, startTestServer, type TestServer, type Upgraded } from '../testing/harness.ts';
import { createNodeAndPod, startKubelet } from './testing.ts';

let server: TestServer;
let kubelet: FakeKubelet;
let stranger: FakeKubelet;
let backend: HttpServer;
const pods = '/api/v1/namespaces/default/pods';
const everything = { stdin: true, stdout: true, stderr: true, tty: false };
const spdy = (protocol: string): Record<string, string> => ({ upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol });

beforeAll(async () => {
  server = await startTestServer({ tokens: 'viewer-token,vera,1\neditor-token,ed,2' });
  kubelet = await startKubelet(server);
  stranger = await startKubelet(server, { selfSigned: true });
  await createNodeAndPod(server, kubelet);
  await createNodeAndPod(server, stranger, { node: 'n2', pod: 'strange' });
  const bind = (name: string, role: string) =>
    server.call('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      method: 'POST',
      body: {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        subjects: [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }],
      },
    });
  await bind('vera', 'view');
  await bind('ed', 'edit');
  backend = createServer((_request, response) => void response.end('from the pod'));
  await once(backend.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  backend.close();
  await kubelet[Symbol.asyncDispose]();
  await stranger[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let left = 500; !(await condition()); left--) {
    if (left === 0) throw new Error('the condition did not become true');
    await sleep(10);
  }
}

const metric = async (name: string): Promise<number> => {
  const { text: all } = await server.call('/metrics');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(all)?.[1]);
};

function upgraded(reply: Upgraded | Reply): Upgraded {
  if (!('socket' in reply)) throw new Error(`refused with ${reply.code}: ${reply.text}`);
  return reply;
}

async function collect(channels: AsyncIterable<ChannelMessage>): Promise<Record<number, string>> {
  const texts: Record<number, string> = {};
  for await (const { channel: number, payload } of channels) texts[number] = (texts[number] ?? '') + payload.toString();
  return texts;
}

function openWebSocket(path: string, protocols: string[], options: object = server.identity): WebSocket {
  return new WebSocket(`${server.url.replace('https', 'wss')}${path}`, protocols, { ca: server.identity.ca, ...options });
}

describe('logs', () => {
  test('come from the kubelet, which sees the server by its certificate', async () => {
    const reply = await server.call(`${pods}/web/log?tailLines=1`);
    expect([reply.code, reply.headers['content-type'], reply.text]).toEqual([200, 'text/plain', 'second line\n']);
    const seen = kubelet.requests.at(-1)!;
    expect([seen.user, seen.url]).toEqual(['kube-apiserver-kubelet-client', '/containerLogs/default/web/main?tailLines=1']);
  });

  test.each([
    [['binary.k8s.io'], (data: Buffer) => data],
    [['base64.binary.k8s.io'], (data: Buffer) => Buffer.from(data.toString(), 'base64')],
    [[], (data: Buffer) => data],
  ])('come over a WebSocket with the protocols %j', async (protocols, decode) => {
    const webSocket = openWebSocket(`${pods}/web/log`, protocols);
    const parts: Buffer[] = [];
    webSocket.on('message', (data: Buffer) => parts.push(decode(data)));
    await once(webSocket, 'close');
    expect(Buffer.concat(parts).toString()).toBe((await server.call(`${pods}/web/log`)).text);
    expect(parts.length).toBeGreaterThan(0);
  });

  test('do not come over a WebSocket with other protocols', async () => {
    const webSocket = openWebSocket(`${pods}/web/log`, ['v5.channel.k8s.io']);
    const [error] = (await once(webSocket, 'error')) as [Error];
    expect(error.message).toContain('400');
  });

  test('can be followed until the container ends', async () => {
    const response = await server.open(`${pods}/web/log?follow=true`);
    const whole = text(response);
    await until(() => kubelet.followers === 1);
    kubelet.log('third line\n');
    kubelet.endLogs();
    expect(await whole).toBe('first line\nsecond line\nthird line\n');
  });

  test('a client that leaves ends the request to the kubelet', async () => {
    const response = await server.open(`${pods}/web/log?follow=true`);
    await until(() => kubelet.followers === 1);
    expect(await metric('capstan_streams')).toBe(1);
    response.destroy();
    await until(() => kubelet.followers === 0);
    await until(async () => (await metric('capstan_streams')) === 0);
  });

  test('a client that does not read stops the kubelet, and gets everything later', async () => {
    const response = await server.open(`${pods}/web/log?follow=true`);
    response.pause();
    await until(() => kubelet.followers === 1);
    const part = Buffer.alloc(1 << 20, 'x');
    let [written, waited] = [0, 0];
    for (; waited < 10 && written < 300; written++) {
      if (kubelet.log(part)) waited = 0;
      else waited++;
      await sleep(1);
    }
    expect(waited).toBe(10);
    kubelet.endLogs();
    let read = 0;
    for await (const chunk of response) read += (chunk as Buffer).length;
    expect(read).toBe(23 + written * part.length);
  });

  test('a kubelet that fails cuts the stream, so that it does not look complete', async () => {
    const response = await server.open(`${pods}/web/log?follow=true`);
    await until(() => kubelet.followers === 1);
    kubelet.cut();
    await expect(text(response)).rejects.toThrow('aborted');
  });

  test('work over HTTP/2, and are reset when they are cut', async () => {
    const session = connectHttp2(server.url, server.identity);
    const whole = session.request({ ':path': `${pods}/web/log` });
    expect(await text(whole)).toBe('first line\nsecond line\n');
    const followed = session.request({ ':path': `${pods}/web/log?follow=true` });
    const read = text(followed);
    await until(() => kubelet.followers === 1);
    kubelet.cut();
    await expect(read).rejects.toThrow('Stream closed with error code');
    session.close();
  });

  test("a refusal is an error in Kubernetes' words", async () => {
    const reply = await server.call(`${pods}/web/log?container=broken`);
    expect([reply.code, reply.json().reason, reply.json().message]).toEqual([
      400,
      'BadRequest',
      'container "broken" is waiting to start: ContainerCreating',
    ]);
  });

  test('a kubelet with a certificate of nobody we know is refused, unless the client does not care', async () => {
    const reply = await server.call(`${pods}/strange/log`);
    expect(reply.code).toBe(500);
    expect(reply.json().message).toBe(
      "error dialing backend: tls: failed to verify certificate: x509: certificate signed by unknown authority. The serving certificate of node n2 must be signed by this server's authority or by one in kubelets.authorityFile; kubelets.skipCertificateCheck accepts any",
    );
    const careless = await server.call(`${pods}/strange/log?insecureSkipTLSVerifyBackend=true`);
    expect(careless.text).toBe('first line\nsecond line\n');
  });
});

describe('commands', () => {
  const exec = (...command: string[]): string =>
    `${pods}/web/exec?stdin=1&stdout=1&stderr=1&${command.map((word) => `command=${encodeURIComponent(word)}`).join('&')}`;

  test('over SPDY are passed through to the kubelet', async () => {
    const { socket, headers } = upgraded(
      await server.upgrade(exec('sh', '-c', 'cat; echo done >&2; exit 3'), { headers: spdy('v4.channel.k8s.io') }),
    );
    expect(headers['x-stream-protocol-version']).toBe('v4.channel.k8s.io');
    expect(headers['audit-id']).toBeDefined();
    const channels = new SpdyClientChannels(new SpdyConnection(socket, { role: 'client' }), everything);
    channels.write({ channel: channel.stdin, payload: Buffer.from('hello') });
    channels.write({ channel: channel.close, payload: Buffer.from([channel.stdin]) });
    const { 1: stdout, 2: stderr, 3: status } = await collect(channels);
    expect([stdout, stderr]).toEqual(['hello', 'done\n']);
    expect(JSON.parse(status!)).toMatchObject({ status: 'Failure', reason: 'NonZeroExitCode' });
    await until(() => kubelet.upgraded === 0);
  });

  test('over a WebSocket are translated to SPDY', async () => {
    const webSocket = openWebSocket(exec('sh', '-c', 'cat; echo done >&2'), ['v5.channel.k8s.io']);
    const messages: Buffer[] = [];
    webSocket.on('message', (data: Buffer) => messages.push(data));
    await once(webSocket, 'open');
    webSocket.send(Buffer.from('\0hello'));
    webSocket.send(Buffer.from([channel.close, channel.stdin]));
    const [code] = (await once(webSocket, 'close')) as [number];
    expect(code).toBe(1000);
    const all = messages.map((message) => [message[0], message.subarray(1).toString()]);
    expect(all).toEqual([
      [1, ''],
      [1, 'hello'],
      [2, 'done\n'],
      [3, '{"metadata":{},"status":"Success"}'],
    ]);
    expect(kubelet.requests.at(-1)!.method).toBe('POST');
    await until(() => kubelet.upgraded === 0);
  });

  test('a terminal gets its size', async () => {
    const webSocket = openWebSocket(`${pods}/web/attach?stdin=1&stdout=1&tty=1`, ['v4.channel.k8s.io']);
    let output = '';
    webSocket.on('message', (data: Buffer) => (output += data[0] === 1 ? data.subarray(1).toString() : ''));
    await once(webSocket, 'open');
    webSocket.send(Buffer.from('\x04{"Width":80,"Height":24}'));
    await until(() => output.includes('size {"Width":80,"Height":24}'));
    webSocket.send(Buffer.from('\0exit\n'));
    await once(webSocket, 'close');
    expect(output).toContain('got "exit\\n"');
  });

  test.each(['v5.channel.k8s.io', 'SPDY'])('a client that leaves ends the command: %s', async (protocol) => {
    if (protocol === 'SPDY') {
      const { socket } = upgraded(await server.upgrade(exec('cat'), { headers: spdy('v4.channel.k8s.io') }));
      new SpdyClientChannels(new SpdyConnection(socket, { role: 'client' }), everything).on('error', () => {});
      await until(() => kubelet.upgraded === 1);
      socket.destroy();
    } else {
      const webSocket = openWebSocket(exec('cat'), [protocol]);
      await once(webSocket, 'open');
      expect(kubelet.upgraded).toBe(1);
      webSocket.terminate();
    }
    await until(() => kubelet.upgraded === 0);
    await until(async () => (await metric('capstan_streams')) === 0);
  });

  test('a kubelet that fails ends the stream of its clients', async () => {
    const webSocket = openWebSocket(exec('cat'), ['v5.channel.k8s.io']);
    const messages: Buffer[] = [];
    webSocket.on('message', (data: Buffer) => messages.push(data));
    await once(webSocket, 'open');
    kubelet.cut();
    await once(webSocket, 'close');
    const last = messages.at(-1)!;
    expect([last[0], JSON.parse(last.subarray(1).toString())]).toMatchObject([3, { status: 'Failure', code: 500 }]);
  });

  test("a kubelet's refusal is an ordinary response", async () => {
    const reply = await server.upgrade(`${exec('ls')}&container=broken`, { headers: spdy('v4.channel.k8s.io') });
    expect([reply.code, (reply as Reply).text]).toEqual([404, 'container not found']);
    const webSocket = openWebSocket(`${exec('ls')}&container=broken`, ['v5.channel.k8s.io']);
    const [error] = (await once(webSocket, 'error')) as [Error];
    expect(error.message).toBe('Unexpected server response: 404');
  });

  test.each([
    [exec('ls'), {}, 400, 'Upgrade request required'],
    [
      `${pods}/web/exec?command=ls`,
      { upgrade: 'websocket' },
      400,
      'expected a WebSocket handshake: GET with Sec-WebSocket-Version 13 and a Sec-WebSocket-Key',
    ],
  ])('rejects %s with %o', async (path, headers, code, message) => {
    const reply = (await server.upgrade(path, { method: 'GET', headers })) as Reply;
    expect([reply.code, reply.json().message]).toEqual([code, message]);
  });
});

describe('rights', () => {
  const path = `${pods}/web/exec?stdout=1&command=true`;
  const asViewer = { authorization: 'Bearer viewer-token' };

  test('a viewer reads logs and cannot run commands', async () => {
    expect((await server.call(`${pods}/web/log`, { anonymous: true, headers: asViewer })).code).toBe(200);
    const reply = (await server.upgrade(path, { anonymous: true, headers: { ...spdy('v4.channel.k8s.io'), ...asViewer } })) as Reply;
    expect([reply.code, reply.json().message]).toEqual([
      403,
      'pods "web" is forbidden: User "vera" cannot create resource "pods/exec" in API group "" in the namespace "default"',
    ]);
  });

  test('a WebSocket needs the right to create, although it is opened with GET', async () => {
    await server.call('/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles', {
      method: 'POST',
      body: { metadata: { name: 'getter' }, rules: [{ apiGroups: [''], resources: ['pods/exec'], verbs: ['get'] }] },
    });
    await server.call('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      method: 'POST',
      body: {
        metadata: { name: 'getter' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'getter' },
        subjects: [{ kind: 'User', name: 'vera', apiGroup: 'rbac.authorization.k8s.io' }],
      },
    });
    const webSocket = openWebSocket(path, ['v5.channel.k8s.io'], { headers: asViewer });
    const [error] = (await once(webSocket, 'error')) as [Error];
    expect(error.message).toBe('Unexpected server response: 403');
  });

  test('a browser sends its token as a subprotocol, which nobody else gets to see', async () => {
    const token = `base64url.bearer.authorization.k8s.io.${Buffer.from('editor-token').toString('base64url')}`;
    const webSocket = openWebSocket(path, [token, 'v4.channel.k8s.io'], {});
    await once(webSocket, 'open');
    expect(webSocket.protocol).toBe('v4.channel.k8s.io');
    await once(webSocket, 'close');
    const proxied = openWebSocket('/api/v1/nodes/n1/proxy/socket', [token, 'mine'], server.identity);
    await once(proxied, 'open').catch(() => {});
    expect(JSON.stringify(kubelet.requests.at(-1)!.headers)).not.toContain('bearer');
    proxied.terminate();
  });

  test('a wrong token in a subprotocol is rejected', async () => {
    const token = `base64url.bearer.authorization.k8s.io.${Buffer.from('wrong').toString('base64url')}`;
    const [error] = (await once(openWebSocket(path, [token, 'v4.channel.k8s.io'], {}), 'error')) as [Error];
    expect(error.message).toBe('Unexpected server response: 401');
  });
});

describe('port-forwards', () => {
  test('over SPDY reach the port', async () => {
    const echo = createNetServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket));
    await once(echo.listen(0, '127.0.0.1'), 'listening');
    const { port } = echo.address() as AddressInfo;
    const { socket } = upgraded(await server.upgrade(`${pods}/web/portforward`, { headers: spdy('portforward.k8s.io') }));
    const connection = new SpdyConnection(socket, { role: 'client' });
    const error = connection.open({ streamtype: 'error', port: String(port), requestid: '0' });
    const data = connection.open({ streamtype: 'data', port: String(port), requestid: '0' });
    data.end('hello');
    expect([await text(data), await text(error)]).toEqual(['hello', '']);
    connection.close();
    echo.close();
    await until(() => kubelet.upgraded === 0);
  });
});

describe('proxies', () => {
  test('a node is reached through its kubelet, without the headers of the client that concern the server', async () => {
    const reply = await server.call('/api/v1/nodes/n1/proxy/stats/summary?only=cpu', {
      method: 'POST',
      body: 'question',
      headers: {
        'impersonate-user': 'kubernetes-admin',
        'impersonate-group': 'system:masters',
        'x-mine': 'yes',
        'x-remote-user': 'root',
        te: 'trailers',
        'content-type': 'text/plain',
      },
    });
    expect(reply.code).toBe(200);
    const seen = reply.json() as unknown as { url: string; body: string; headers: Record<string, string> };
    expect([seen.url, seen.body, seen.headers['x-mine']]).toEqual(['/stats/summary?only=cpu', 'question', 'yes']);
    for (const name of ['authorization', 'impersonate-user', 'impersonate-group', 'x-remote-user', 'te'])
      expect(seen.headers[name]).toBeUndefined();
    expect(seen.headers['x-forwarded-uri']).toBe('/api/v1/nodes/n1/proxy/stats/summary');
    expect([reply.headers['x-kubelet'], reply.headers['x-secret']]).toEqual(['fake', undefined]);
  });

  test.each(['DELETE', 'OPTIONS', 'PATCH', 'POST', 'PUT'])('%s is passed on', async (method) => {
    const reply = await server.call('/api/v1/nodes/n1/proxy/x', { method });
    expect([reply.code, (reply.json() as unknown as { method: string }).method]).toEqual([200, method]);
  });

  test('a method without a verb needs all rights', async () => {
    const headers = { authorization: 'Bearer editor-token' };
    expect((await server.call(`${pods}/web/proxy/x`, { method: 'OPTIONS', headers, anonymous: true })).code).toBe(403);
    expect((await server.call('/api/v1/nodes/n1/proxy/x', { method: 'TRACE' })).code).toBe(405);
  });

  test('a parameter with the name of one of the server is for the target', async () => {
    const reply = await server.call('/api/v1/nodes/n1/proxy/x?timeout=soon&dryRun=maybe');
    expect([reply.code, (reply.json() as unknown as { url: string }).url]).toEqual([200, '/x?timeout=soon&dryRun=maybe']);
  });

  test('redirects of the target stay in the proxy, and are not followed', async () => {
    const reply = await server.call('/api/v1/nodes/n1/proxy/redirect');
    expect([reply.code, reply.headers['location']]).toEqual([302, '/api/v1/nodes/n1/proxy/elsewhere?x=1']);
  });

  test('errors of the target are passed on', async () => {
    const reply = await server.call('/api/v1/nodes/n1/proxy/missing');
    expect([reply.code, reply.text]).toEqual([404, 'nothing here']);
  });

  test('the first page has a slash at its end', async () => {
    const reply = await server.call('/api/v1/nodes/n1/proxy?a=1');
    expect([reply.code, reply.headers['location']]).toEqual([301, '/api/v1/nodes/n1/proxy/?a=1']);
  });

  test('connections can be upgraded', async () => {
    const webSocket = openWebSocket('/api/v1/nodes/n1/proxy/socket', []);
    await once(webSocket, 'open');
    webSocket.send('hi');
    expect(String((await once(webSocket, 'message'))[0])).toBe('echo hi');
    webSocket.close();
    await once(webSocket, 'close');
  });

  test.each(['127.0.0.1', '169.254.169.254', '::ffff:127.0.0.1', '::1', 'fe80::1', '0.0.0.0', '224.0.0.1'])(
    'no pod leads the server to %s',
    async (podIP) => {
      const live = (await server.call(`${pods}/web`)).json();
      const body = { ...live, status: { podIP, podIPs: [{ ip: podIP }] } };
      await server.call(`${pods}/web/status`, { method: 'PUT', body });
      const { port } = backend.address() as AddressInfo;
      const reply = await server.call(`${pods}/web:${port}/proxy/`);
      expect([reply.code, reply.json().message]).toEqual([400, 'address not allowed']);
    },
  );
});

describe('the audit log', () => {
  test('has a line for the start of a stream, and one for its end with bytes and duration', async () => {
    const reply = await server.call(`${pods}/web/log`);
    const id = reply.headers['audit-id'] as string;
    const file = join(server.directory, 'audit.log');
    const lines = async () =>
      (await readFile(file, 'utf8'))
        .split('\n')
        .filter((line) => line.includes(id))
        .map((line) => JSON.parse(line) as { stage: string; responseStatus?: { code: number }; annotations: Record<string, string> });
    await until(async () => (await lines()).length === 2);
    const [started, ended] = await lines();
    expect([started!.stage, ended!.stage]).toEqual(['ResponseStarted', 'ResponseComplete']);
    expect(ended!.responseStatus?.code).toBe(200);
    expect(ended!.annotations).toMatchObject({ 'streams.capstan.dev/received-bytes': '0', 'streams.capstan.dev/sent-bytes': '23' });
    expect(ended!.annotations['streams.capstan.dev/duration']).toMatch(/^\d+\.\d{3}s$/);
  });
});

describe('limits and shutdown', () => {
  test('streams are limited per user, apart from other requests, and end politely with the server', async () => {
    await using other = await startTestServer({ limits: { streams: { overall: 3, perLine: 3 } } });
    await using fake = await startKubelet(other);
    await createNodeAndPod(other, fake);
    const path = `${pods}/web/exec?stdin=1&stdout=1&command=cat`;
    const url = `${other.url.replace('https', 'wss')}${path}`;
    const webSockets = await Promise.all(
      [0, 1].map(async () => {
        const webSocket = new WebSocket(url, ['v5.channel.k8s.io'], other.identity);
        await once(webSocket, 'open');
        return webSocket;
      }),
    );
    const { socket } = upgraded(await other.upgrade(path, { headers: spdy('v4.channel.k8s.io') }));
    const refused = await other.call(`${pods}/web/log`);
    expect([refused.code, refused.json().message]).toEqual([429, 'the server has 3 streams open, which is its limit; try again later']);
    expect((await other.call(pods)).code).toBe(200);
    const closings = Promise.all([...webSockets.map((one) => once(one, 'close')), once(socket.resume(), 'end')]);
    const restarted = other.restart();
    expect((await closings).slice(0, 2).map(([code]) => code as number)).toEqual([1001, 1001]);
    await restarted;
    await until(() => fake.upgraded === 0);
  });
});
