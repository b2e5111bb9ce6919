import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createCertificateRequest } from '@capstan/pki';
import {
  type AnsweringTunnel,
  answerTunnel,
  type ChannelMessage,
  channel,
  FramedChannels,
  openTunnel,
  type Tunnel,
  type TunnelRequest,
} from '@capstan/streams';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { recordedStreams } from '../audit/testing.ts';
import { createPlatform } from '../node-agents/testing/fleet.ts';
import { startTestServer, type TestServer } from '../testing/harness.ts';
import { AppsOfTenants, appsIn, group } from './testing/apps.ts';

let server: TestServer;
let apps: AppsOfTenants;
let tunnel: Tunnel;
let agent: AnsweringTunnel;
let asked: TunnelRequest[] = [];
let connected = new Set<string>();
/** Nodes that serve no API of the instance. */
let joining = new Set<string>();

async function answer(request: TunnelRequest): Promise<void> {
  asked.push(request);
  const { pathname } = new URL(request.path, 'http://node');
  if (pathname.endsWith('/access')) return void request.respond(204).end();
  if (/certificatesigningrequests|kube-root-ca/.test(pathname)) return certify(request, pathname);
  if (pathname.endsWith('/shell')) {
    const channels = new FramedChannels(request.respond(200));
    channels.on('error', () => {});
    channels.write({ channel: channel.stdout, payload: Buffer.from('hello') } satisfies ChannelMessage);
    channels.write({ channel: channel.error, payload: Buffer.from('{"metadata":{},"status":"Success"}') } satisfies ChannelMessage);
    return void channels.end();
  }
  if (request.headers['capstan-upgrade'] !== undefined) {
    const stream = request.respond(200, { 'capstan-upgraded': 'true' });
    return void stream.pipe(stream);
  }
  const stream = request.respond(200, { 'content-type': 'application/json', 'x-cluster': 'yes' });
  stream.end(`${request.method} ${request.path} ${await text(stream)}`);
}

/** A cluster that signs at the second look. */
async function certify(request: TunnelRequest, path: string): Promise<void> {
  const stream = request.respond(200, { 'content-type': 'application/json' });
  const sent = await text(stream);
  const looks = asked.filter((one) => one.method === 'GET' && one.path.includes('/capstan-admin-')).length;
  const isSigned = request.method === 'GET' && looks > 1;
  const status = isSigned ? { certificate: Buffer.from('signed').toString('base64') } : {};
  stream.end(
    JSON.stringify(path.includes('kube-root-ca') ? { data: { 'ca.crt': 'authority' } } : { ...(sent !== '' && JSON.parse(sent)), status }),
  );
}

const instances = `${appsIn('tenant1')}/appinstances`;
const members = `${appsIn('tenant1')}/appmembers`;
const endpoints = [{ name: 'api', address: 'https://192.0.2.11:6443' }];
let uid: string;
beforeAll(async () => {
  const [near, far] = duplexPair();
  [tunnel, agent] = await Promise.all([openTunnel(near), answerTunnel(far, { handle: answer })]);
  server = await startTestServer({
    tunnels: {
      to: (node) =>
        connected.has(node)
          ? {
              request: async (request) =>
                tunnel.request(joining.has(node) && request.path.endsWith('/access') ? { ...request, path: '/nowhere' } : request),
            }
          : undefined,
    },
  });
  await createPlatform(server);
  apps = new AppsOfTenants(server);
  await apps.createTenants();
  uid = await apps.createInstance('tenant1', 'k8s', { kubeconfig: true, kubernetes: 'n1', shell: 'n2', endpoints });
  await apps.createMember('tenant1', 'n1', {}, 'degraded');
  await apps.createMember('tenant1', 'n2', {});
  await apps.createMember('tenant1', 'worker', { component: 'agent' });
  await apps.createMember('tenant1', 'stolen', {});
  for (const node of ['n1', 'n2', 'worker']) await apps.book(node);
  await apps.book('stolen', { cluster: 'tenant2' });
  const roles = '/clusters/tenant1/apis/rbac.authorization.k8s.io/v1';
  for (const [user, verbs, resources] of [
    ['viewer', ['get'], ['appinstances/proxy']],
    ['editor', ['*'], ['appinstances/proxy', 'appmembers/exec']],
    ['outsider', ['get'], ['appinstances']],
    ['rescuer', ['create'], ['appinstances/admincertificate']],
  ] as const) {
    await apps.write(`${roles}/clusterroles`, {
      metadata: { name: user },
      rules: [
        { apiGroups: [group], resources, verbs },
        { nonResourceURLs: ['/'], verbs: ['access'] },
      ],
    });
  }
  for (const [user, role] of [
    ...['viewer', 'editor', 'outsider', 'rescuer'].map((name) => [name, name] as const),
    // The built-in role.
    ['colleague', 'user'],
  ] as const)
    await apps.write(`${roles}/clusterrolebindings`, {
      metadata: { name: user },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
      roleRef: { kind: 'ClusterRole', apiGroup: 'rbac.authorization.k8s.io', name: role },
    });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  tunnel.destroy();
  agent.destroy();
});
beforeEach(() => {
  [asked, connected, joining] = [[], new Set(['n1', 'n2', 'worker', 'stolen']), new Set()];
});

const as = (user: string): { headers: Record<string, string> } => ({
  headers: { 'impersonate-user': user, 'impersonate-group': 'system:authenticated' },
});
const passed = (): TunnelRequest[] => asked.filter(({ path }) => !path.endsWith('/access'));

describe('appinstances/proxy', () => {
  test('passes requests on to a server of the instance, with path, query and body', async () => {
    const reply = await server.call(`${instances}/k8s/proxy/api/v1/namespaces/a/pods?limit=5`, { method: 'POST', body: { a: 1 } });
    expect(reply.code).toBe(200);
    expect(reply.headers['x-cluster']).toBe('yes');
    expect(reply.text).toBe(`POST /node/apps/${uid}/proxy/api/v1/namespaces/a/pods?limit=5 {"a":1}`);
    expect(passed()[0]!.headers).toMatchObject({ 'capstan-user': 'kubernetes-admin', 'capstan-groups': 'capstan%3Aadmins' });
  });

  test.each([
    ['viewer', 'GET', 200, 'capstan%3Aviewers'],
    ['editor', 'GET', 200, 'capstan%3Aadmins'],
    ['editor', 'DELETE', 200, 'capstan%3Aadmins'],
    ['colleague', 'GET', 200, 'capstan%3Aadmins'],
    ['colleague', 'PATCH', 200, 'capstan%3Aadmins'],
    ['viewer', 'DELETE', 403, undefined],
    ['viewer', 'POST', 403, undefined],
    ['outsider', 'GET', 403, undefined],
  ])('%s may %s: %i', async (user, method, code, groups) => {
    const reply = await server.call(`${instances}/k8s/proxy/api/v1/pods`, { method, ...as(user) });
    expect([reply.code, passed()[0]?.headers['capstan-groups']]).toEqual([code, groups]);
    if (code === 200) expect(passed()[0]!.headers['capstan-user']).toBe(user);
  });

  test('sends no credentials and no wishes of the client about who it is', async () => {
    const headers = {
      ...as('viewer').headers,
      'impersonate-group': 'system:authenticated',
      'capstan-groups': 'capstan%3Aadmins',
      'x-remote-user': 'root',
    };
    await server.call(`${instances}/k8s/proxy/api`, { headers });
    const sent = passed()[0]!.headers;
    expect(sent['capstan-groups']).toBe('capstan%3Aviewers');
    expect(Object.keys(sent).filter((name) => /^(authorization|impersonate-|x-remote-)/.test(name))).toEqual([]);
  });

  test('knows from the adapter which component serves the API', async () => {
    await apps.createInstance('tenant1', 'other', { kubeconfig: true, kubernetes: 'head' });
    await apps.createMember('tenant1', 'head', { instance: 'other', component: 'control-plane' });
    await apps.createMember('tenant1', 'tail', { instance: 'other', component: 'server' });
    for (const node of ['head', 'tail']) await apps.book(node);
    connected = new Set(['tail']);
    expect((await server.call(`${instances}/other/proxy/api`)).code).toBe(503);
    connected = new Set(['head', 'tail']);
    expect((await server.call(`${instances}/other/proxy/api`)).code).toBe(200);
    expect(asked).toHaveLength(1);
  });

  test('prefers healthy servers, and those that have an API', async () => {
    await server.call(`${instances}/k8s/proxy/api`);
    expect(asked.map(({ path }) => path.split('/').at(-1))).toEqual(['access', 'api']);
    connected = new Set(['n1', 'worker']);
    asked = [];
    expect((await server.call(`${instances}/k8s/proxy/api`)).code).toBe(200);
    expect(asked).toHaveLength(1);
  });

  test('never leads to a node that the instance does not have to itself', async () => {
    connected = new Set(['stolen', 'worker']);
    const reply = await server.call(`${instances}/k8s/proxy/api`);
    expect([reply.code, reply.json().message]).toEqual([503, expect.stringContaining('n2, n1')]);
    expect(asked).toEqual([]);
  });

  test('does not serve kinds that a tenant has defined', async () => {
    await apps.createInstance('tenant2', 'k8s', { kubeconfig: true, shell: 'stolen' });
    await apps.createMember('tenant2', 'stolen', {});
    expect((await server.call(`${appsIn('tenant2')}/appinstances/k8s/proxy/api`)).code).toBe(404);
    expect(
      (await server.upgrade(`${appsIn('tenant2')}/appmembers/stolen/exec?stdout=true`, { headers: { upgrade: 'websocket' } })).code,
    ).toBe(404);
    expect(asked).toEqual([]);
  });

  test('says why there is no API yet', async () => {
    await apps.createInstance('tenant1', 'young', { kubeconfig: false });
    expect(await server.call(`${instances}/young/proxy/api`)).toMatchObject({
      code: 503,
      text: expect.stringContaining('no Kubernetes API yet'),
    });
    expect((await server.call(`${instances}/missing/proxy/api`)).code).toBe(404);
  });

  test('does not lead out of the instance', async () => {
    for (const path of ['/../../other/proxy/api', '/%2e%2e/%2e%2e/access', '/..%2f..%2fshell'])
      expect((await server.call(`${instances}/k8s/proxy${path}`)).code).toBeGreaterThanOrEqual(400);
    expect(passed()).toEqual([]);
  });

  test('changes protocols, with the method of the client', async () => {
    const headers = { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v5.channel.k8s.io' };
    const reply = await server.upgrade(`${instances}/k8s/proxy/api/v1/namespaces/a/pods/b/exec?command=id`, { method: 'POST', headers });
    if (!('socket' in reply)) throw new Error(reply.text);
    reply.socket.write('ping');
    expect(String((await once(reply.socket, 'data'))[0])).toBe('ping');
    reply.socket.destroy();
    expect(passed()[0]!.headers).toMatchObject({ 'capstan-upgrade': 'SPDY/3.1', 'capstan-method': 'POST' });
  });

  test('is in the audit log, also when a user only reads', async () => {
    expect((await server.call(`${instances}/k8s/proxy/api/v1/secrets`, as('viewer'))).code).toBe(200);
    expect((await recordedStreams(server, 'tenant1', `appinstances.${group}/proxy`))[0]).toBe('get by viewer');
  });
});

describe('appinstances/admincertificate', () => {
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ask = (user: string, { commonName = user, organizations = ['capstan:admins'], ...spec }: Partial<Wish> = {}) => {
    const request = createCertificateRequest({ key, commonName, organizations });
    return server.call(`${instances}/k8s/admincertificate`, { method: 'POST', body: { spec: { request, ...spec } }, ...as(user) });
  };
  interface Wish {
    readonly commonName: string;
    readonly organizations: readonly string[];
    readonly expirationSeconds: number;
  }

  test('is signed by the cluster for the user who asks, and leaves nothing behind', async () => {
    const reply = await ask('rescuer', { expirationSeconds: 900 });
    expect([reply.code, reply.json().status], reply.text).toEqual([
      201,
      { certificate: 'signed', authority: 'authority', server: 'https://192.0.2.11:6443' },
    ]);
    const steps = passed().map(({ method, path }) => `${method} ${path.replace(/^.*\/proxy/, '').replace(/capstan-admin-\w+/, 'NAME')}`);
    const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
    expect(steps).toEqual([
      `POST ${requests}`,
      `PUT ${requests}/NAME/approval`,
      `GET ${requests}/NAME`,
      `GET ${requests}/NAME`,
      `DELETE ${requests}/NAME`,
      'GET /api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt',
    ]);
    for (const { headers } of passed()) expect(headers).toMatchObject({ 'capstan-user': 'rescuer', 'capstan-groups': 'capstan%3Aadmins' });
  });

  test('needs a permission of its own: using and changing the cluster is not enough', async () => {
    for (const user of ['viewer', 'editor', 'colleague', 'outsider']) expect((await ask(user)).code, user).toBe(403);
    expect(asked).toEqual([]);
  });

  test.each([
    ['another name', { commonName: 'kubernetes-admin' }],
    ['another group', { organizations: ['system:masters'] }],
    ['more groups', { organizations: ['capstan:admins', 'system:masters'] }],
    ['a long life', { expirationSeconds: 10 * 365 * 86_400 }],
    ['a short life', { expirationSeconds: 1 }],
  ])('is refused for %s', async (_, wish) => {
    expect((await ask('rescuer', wish)).code).toBe(400);
    expect(passed()).toEqual([]);
  });

  test('is refused for bodies that are no request, and other methods', async () => {
    const path = `${instances}/k8s/admincertificate`;
    for (const body of [{}, { spec: {} }, { spec: { request: 'x' } }])
      expect((await server.call(path, { method: 'POST', body, ...as('rescuer') })).code).toBe(400);
    expect((await server.call(path, as('rescuer'))).code).toBe(403);
  });

  test('is in the audit log, with the user who asked', async () => {
    await ask('rescuer');
    await ask('editor');
    const found = await server.call('/clusters/tenant1/capstan/audit?resource=appinstances.apps.capstan.dev/admincertificate');
    const events = found.json().items as unknown as {
      verb: string;
      impersonatedUser: { username: string };
      responseStatus: { code: number };
    }[];
    const said = events.map(({ verb, impersonatedUser, responseStatus }) => [verb, impersonatedUser.username, responseStatus.code]);
    expect(said).toContainEqual(['create', 'rescuer', 201]);
    expect(said).toContainEqual(['create', 'editor', 403]);
    expect(JSON.stringify(events)).not.toContain('BEGIN CERTIFICATE');
  });
});

describe('appmembers/exec', () => {
  const exec = async (member: string, user?: string): Promise<string> => {
    const path = `${server.url.replace('https', 'wss')}${members}/${member}/exec?stdout=true&command=id`;
    const socket = new WebSocket(path, ['v5.channel.k8s.io'], { ...server.identity, ...(user !== undefined && as(user)) });
    return new Promise((resolve) => {
      let output = '';
      socket.on('message', (data: Buffer) => {
        if (data[0] === 1) output += data.subarray(1).toString();
      });
      socket.on('close', () => resolve(output));
      socket.on('unexpected-response', (_request, response) => resolve(`refused with ${response.statusCode}`));
      socket.on('error', () => {});
    });
  };

  test('gives a shell on the member that the instance names', async () => {
    for (const user of ['colleague', 'editor']) expect(await exec('n2', user)).toBe('hello');
    asked.shift();
    expect(asked[0]).toMatchObject({ path: `/node/apps/${uid}/shell?command=id&stdout=true`, headers: { 'capstan-user': 'editor' } });
  });

  test('is in the audit log, although a WebSocket is opened with GET', async () => {
    expect(await exec('n2', 'colleague')).toBe('hello');
    expect((await recordedStreams(server, 'tenant1', `appmembers.${group}/exec`))[0]).toBe('get by colleague');
  });

  test('gives none on others, and none without the permission to create', async () => {
    for (const member of ['n1', 'worker', 'stolen']) expect(await exec(member)).toBe('refused with 403');
    expect(await exec('n2', 'viewer')).toBe('refused with 403');
    connected = new Set();
    expect(await exec('n2')).toBe('refused with 503');
    expect(asked).toEqual([]);
  });
});
