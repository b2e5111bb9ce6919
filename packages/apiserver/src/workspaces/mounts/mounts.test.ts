import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Call, createWorkspace, startTestServer, type TestServer } from '../../testing/harness.ts';

const tokens = 'jane-token,jane,1,"team"\nmallory-token,mallory,2\n';
const workspaces = '/apis/tenancy.kcp.io/v1alpha1/workspaces';
const clusters = '/apis/contrib.example/v1/kubeclusters';
const configMaps = '/api/v1/namespaces/default/configmaps';

let backend: Server;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
const seen: { method: string; url: string; headers: IncomingMessage['headers']; raw: string[]; body: string }[] = [];
let base = '';

beforeAll(async () => {
  backend = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      seen.push({ method: request.method!, url: request.url!, headers: request.headers, raw: request.rawHeaders, body });
      answer(request, response);
    });
  });
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`;
});
afterAll(() => backend.close().closeAllConnections());

async function start(options: Parameters<typeof startTestServer>[0] = {}): Promise<TestServer> {
  const server = await startTestServer({ tokens, mounts: { backends: [{ url: `${base}/tenants` }] }, ...options });
  const made = await server.call('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body: definition });
  expect(made.code).toBe(201);
  await vi.waitFor(async () => expect((await server.call(clusters)).code).toBe(200), 5000);
  return server;
}

/** Creates a mounted workspace in root, and the object with its URL. */
async function mount(server: TestServer, name: string, url: string): Promise<void> {
  const object = { apiVersion: 'contrib.example/v1', kind: 'KubeCluster', metadata: { name }, status: { phase: 'Ready', URL: url } };
  expect((await server.call(clusters, { method: 'POST', body: object })).code).toBe(201);
  const kind = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace' };
  const body = { ...kind, metadata: { name }, spec: { mount: { ref: { apiVersion: 'contrib.example/v1', kind: 'KubeCluster', name } } } };
  const made = await server.call(`/clusters/root${workspaces}`, { method: 'POST', body });
  expect([made.code, made.text]).toEqual([201, expect.anything()]);
}

interface Told {
  readonly spec: { URL?: string };
  readonly status?: { phase?: string; conditions?: { type: string; status: string; reason?: string; message?: string }[] };
}

async function told(
  server: TestServer,
  name: string,
): Promise<{ phase: string | undefined; url: string | undefined; reason: string | undefined }> {
  const { spec, status } = (await server.call(`/clusters/root${workspaces}/${name}`)).json() as unknown as Told;
  const condition = status?.conditions?.find(({ type }) => type === 'WorkspaceMountReady');
  return { phase: status?.phase, url: spec.URL, reason: condition?.reason ?? condition?.status };
}

const ready = (server: TestServer, name: string) => vi.waitFor(async () => expect((await told(server, name)).phase).toBe('Ready'), 5000);
const as = (server: TestServer, who: string, path: string, call: Call = {}) =>
  server.call(path, { ...call, anonymous: true, headers: { ...call.headers, authorization: `Bearer ${who}-token` } });

describe('a workspace mounted from another workspace', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await start();
    await createWorkspace(server, 'dddd');
    await server.call('/clusters/dddd/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'default' } } });
    await server.call(`/clusters/dddd${configMaps}`, { method: 'POST', body: { metadata: { name: 'x' }, data: { of: 'dddd' } } });
    await mount(server, 'link', `${server.url}/clusters/dddd`);
    await ready(server, 'link');
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('serves that workspace to users who have access to it, and to nobody else', async () => {
    expect((await server.call(`/clusters/root:link${configMaps}/x`)).json()).toMatchObject({ data: { of: 'dddd' } });
    expect((await server.call(`/clusters/root:link${configMaps}?limit=1`)).json().items).toHaveLength(1);
    expect((await as(server, 'mallory', `/clusters/root:link${configMaps}`)).code).toBe(403);
    expect((await server.call(`/clusters/root:link${configMaps}`, { anonymous: true })).code).toBe(403);
  });

  it('has a URL that only the platform can change', async () => {
    expect(await told(server, 'link')).toEqual({ phase: 'Ready', url: `${server.url}/clusters/dddd`, reason: 'True' });
    await server.call('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      method: 'POST',
      body: {
        metadata: { name: 'mallory' },
        subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'mallory' }],
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      },
    });
    const patch = (body: object) =>
      as(server, 'mallory', `/clusters/root${workspaces}/link`, {
        method: 'PATCH',
        body,
        headers: { 'content-type': 'application/merge-patch+json' },
      });
    expect((await patch({ spec: { URL: 'http://169.254.169.254/' } })).text).toContain(
      'spec.URL can only be changed by system privileged users',
    );
    expect((await patch({ spec: { mount: { ref: { name: 'other' } } } })).text).toContain('mount is immutable');
    expect((await patch({ spec: { mount: null } })).code).toBeGreaterThanOrEqual(400);
  });

  it('is unavailable while its mount is not ready, and reports why', async () => {
    const phase = (text: string) =>
      server.call(`${clusters}/link`, {
        method: 'PATCH',
        body: { status: { phase: text } },
        headers: { 'content-type': 'application/merge-patch+json' },
      });
    await phase('Connecting');
    await vi.waitFor(
      async () => expect(await told(server, 'link')).toMatchObject({ phase: 'Unavailable', reason: 'MountObjectNotReady' }),
      5000,
    );
    expect((await server.call(`/clusters/root:link${configMaps}`)).code).toBe(503);
    expect((await server.call(`/clusters/root:link${configMaps}`, { anonymous: true })).code).toBe(403);
    await phase('Ready');
    await ready(server, 'link');
    await server.call(`${clusters}/link`, { method: 'DELETE' });
    await vi.waitFor(
      async () => expect(await told(server, 'link')).toMatchObject({ phase: 'Unavailable', reason: 'MountObjectNotFound' }),
      5000,
    );
  });

  it('is unavailable if mounts form a cycle', async () => {
    await mount(server, 'ring-a', `${server.url}/clusters/root:ring-b`);
    await mount(server, 'ring-b', `${server.url}/clusters/root:ring-a`);
    await mount(server, 'self', `${server.url}/clusters/root:self`);
    for (const name of ['ring-a', 'ring-b', 'self']) await ready(server, name);
    for (const name of ['ring-a', 'ring-b', 'self', 'self:below']) {
      const reply = await server.call(`/clusters/root:${name}${configMaps}`);
      expect([reply.code, reply.json().message]).toEqual([503, expect.stringMatching(/cycle|Not available/)]);
    }
    expect((await server.call('/livez')).code).toBe(200);
  });

  it('without a target looks missing to users without access to its parent', async () => {
    const annotations = { 'internal.tenancy.kcp.io/type': 'root:universal' };
    const parent = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata: { name: 'cluster', annotations } };
    expect((await server.call('/clusters/eeee/apis/core.kcp.io/v1alpha1/logicalclusters', { method: 'POST', body: parent })).code).toBe(
      201,
    );
    const ref = { apiVersion: 'contrib.example/v1', kind: 'KubeCluster', name: 'none' };
    const body = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name: 'hidden' }, spec: { mount: { ref } } };
    expect((await server.call(`/clusters/eeee${workspaces}`, { method: 'POST', body })).code).toBe(201);
    expect((await server.call('/clusters/eeee:hidden/api')).code).toBe(503);
    const [hidden, absent] = [await as(server, 'jane', '/clusters/eeee:hidden/api'), await as(server, 'jane', '/clusters/eeee:absent/api')];
    expect([hidden.code, absent.code]).toEqual([403, 403]);
    expect(hidden.text.replaceAll('hidden', 'absent')).toBe(absent.text);
  });

  it('can be deleted', async () => {
    expect((await server.call(`/clusters/root${workspaces}/self`, { method: 'DELETE' })).code).toBe(200);
    expect((await server.call(`/clusters/root${workspaces}/self`)).code).toBe(404);
  });
});

describe('a workspace mounted from another server', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await start();
    await mount(server, 'far', `${base}/tenants/one`);
    await ready(server, 'far');
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('is served there, with the user’s identity in headers of this server', async () => {
    seen.length = 0;
    answer = (_request, response) =>
      response.writeHead(201, { 'content-type': 'application/json', warning: '299 - "far"' }).end('{"far":true}');
    const reply = await as(server, 'jane', `/clusters/root:far${configMaps}?dryRun=All`, {
      method: 'POST',
      body: { a: 1 },
      headers: {
        'x-remote-user': 'admin',
        'X-Remote-Group': 'system:masters',
        x_remote_user: 'admin',
        'x-forwarded-for': '1.2.3.4',
        cookie: 'c=1',
      },
    });
    expect([reply.code, reply.text, reply.headers['warning']]).toEqual([201, '{"far":true}', '299 - "far"']);
    const [got] = seen;
    expect(got).toMatchObject({ method: 'POST', url: `/tenants/one${configMaps}?dryRun=All`, body: '{"a":1}' });
    expect(got!.headers).toMatchObject({
      'x-remote-user': 'jane',
      'x-remote-group': 'team, system:authenticated',
      host: new URL(base).host,
    });
    for (const name of ['authorization', 'cookie', 'x_remote_user']) expect(got!.headers).not.toHaveProperty(name);
    expect(got!.headers['x-forwarded-for']).toBe('127.0.0.1');
    expect(got!.raw.filter((one) => one.toLowerCase() === 'x-remote-user')).toHaveLength(1);
  });

  it('rejects unauthenticated users', async () => {
    seen.length = 0;
    expect((await server.call(`/clusters/root:far${configMaps}`, { anonymous: true })).code).toBe(403);
    expect((await server.call(`/clusters/root:far${configMaps}`, { anonymous: true, headers: { 'x-remote-user': 'admin' } })).code).toBe(
      403,
    );
    expect((await as(server, 'forged', `/clusters/root:far${configMaps}`)).code).toBe(401);
    expect(seen).toEqual([]);
  });

  it('does not forward system:masters', async () => {
    seen.length = 0;
    answer = (_request, response) => response.end('{}');
    await server.call(`/clusters/root:far${configMaps}`);
    expect(seen[0]!.headers['x-remote-group'] ?? '').not.toContain('system:masters');
  });

  it.each(['/../../admin', '/%2e%2e/%2e%2e/admin', '/..%2f..%2fadmin', '/a\\..\\..'])('cannot be left by the path %s', async (path) => {
    seen.length = 0;
    answer = (_request, response) => response.end('{}');
    const { hostname, port } = new URL(server.url);
    const { connect } = await import('node:tls');
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
    socket.write(`GET /clusters/root:far${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer jane-token\r\nConnection: close\r\n\r\n`);
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    expect([text.slice(0, 12), seen]).toEqual(['HTTP/1.1 400', []]);
  });

  it('returns redirects without following them', async () => {
    seen.length = 0;
    answer = (_request, response) => response.writeHead(302, { location: `${base}/elsewhere` }).end();
    const reply = await as(server, 'jane', `/clusters/root:far/api`);
    expect([reply.code, seen.length]).toEqual([302, 1]);
  });

  it('streams a watch, and closes it when the client disconnects', async () => {
    let left = (): void => {};
    const closed = new Promise<void>((resolve) => (left = resolve));
    answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"type":"ADDED","object":{"n":1}}\n');
      response.on('close', left);
    };
    const events = await server.watch(`/clusters/root:far${configMaps}?watch=true`, 1);
    expect(events).toEqual([{ type: 'ADDED', object: { n: 1 } }]);
    await closed;
  });

  it('returns responses that do not fit into memory', async () => {
    const chunk = Buffer.alloc(1 << 20, 'x');
    answer = (_request, response) => {
      let left = 32;
      const more = (): void => {
        for (; left > 0; left--) {
          if (response.write(chunk)) continue;
          left--;
          response.once('drain', more);
          return;
        }
        response.end();
      };
      more();
    };
    expect((await as(server, 'jane', `/clusters/root:far/big`)).body.length).toBe(32 << 20);
  });

  it('is unavailable if servers form a cycle', async () => {
    seen.length = 0;
    const via = Array.from({ length: 4 }, () => '1.1 capstan').join(', ');
    expect((await as(server, 'jane', `/clusters/root:far/api`, { headers: { via } })).code).toBe(503);
    expect(seen).toEqual([]);
    answer = (_request, response) => response.end('{}');
    await as(server, 'jane', `/clusters/root:far/api`, { headers: { via: '1.1 capstan' } });
    expect(seen[0]!.headers.via).toBe('1.1 capstan, 1.1 capstan');
  });

  it('repeats reads whose kept connection was closed', async () => {
    let calls = 0;
    answer = (request, response) => {
      if (++calls === 2) request.socket.destroy();
      else response.end('{}');
    };
    await as(server, 'jane', `/clusters/root:far/api`);
    expect([(await as(server, 'jane', `/clusters/root:far/api`)).code, calls]).toEqual([200, 3]);
    calls = 1;
    expect([(await as(server, 'jane', `/clusters/root:far/api`, { method: 'POST', body: {} })).code, calls]).toEqual([503, 2]);
  });

  it('reports why the backend did not respond', async () => {
    answer = (_request, response) => response.destroy();
    const reply = await as(server, 'jane', `/clusters/root:far/api`);
    expect([reply.code, reply.json().message]).toEqual([503, 'error trying to reach service: EOF']);
  });

  it('must be on a backend that the operator configured', async () => {
    seen.length = 0;
    await mount(server, 'beside', `${base}/other`);
    await mount(server, 'metadata', 'http://169.254.169.254/latest');
    for (const name of ['beside', 'metadata']) {
      await vi.waitFor(
        async () => expect(await told(server, name)).toMatchObject({ phase: 'Unavailable', reason: 'MountURLNotPermitted' }),
        5000,
      );
      expect((await as(server, 'jane', `/clusters/root:${name}/api`)).code).toBe(503);
    }
    expect(seen).toEqual([]);
  });
});

it('mounts are disabled unless the operator enables them', async () => {
  await using server = await startTestServer({ tokens });
  await server.call('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body: definition });
  await vi.waitFor(async () => expect((await server.call(clusters)).code).toBe(200), 5000);
  await mount(server, 'far', `${base}/tenants/one`);
  seen.length = 0;
  expect((await as(server, 'jane', `/clusters/root:far/api`)).code).toBe(403);
  expect((await server.call(`/clusters/root:far/api`)).code).toBe(404);
  expect([seen, await told(server, 'far')]).toEqual([[], { phase: undefined, url: undefined, reason: undefined }]);
});

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'kubeclusters.contrib.example' },
  spec: {
    group: 'contrib.example',
    scope: 'Cluster',
    names: { plural: 'kubeclusters', singular: 'kubecluster', kind: 'KubeCluster', listKind: 'KubeClusterList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
