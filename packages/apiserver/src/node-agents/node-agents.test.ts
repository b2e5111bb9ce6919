import { X509Certificate } from 'node:crypto';
import type { GPUNode, IssuedCertificate, NodeEnrollment } from '@capstan/api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';
import {
  type Agent,
  callAs,
  createPlatform,
  enroll,
  enrolled,
  fleetPath,
  invite,
  newKey,
  refusalOf,
  renew,
  renewed,
} from './testing/fleet.ts';

let server: TestServer;
const lines: string[] = [];
beforeAll(async () => {
  server = await startTestServer({ log: (line) => void lines.push(line) });
  await createPlatform(server);
  // Every real workspace has it.
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } };
  expect((await server.call(`${platformPath}/api/v1/namespaces`, { method: 'POST', body })).code).toBe(201);
});
afterAll(() => server[Symbol.asyncDispose]());

const platformPath = '/clusters/root:platform';
const nodePath = (node: string): string => `${fleetPath}/gpunodes/${node}`;
const getNode = async (node: string): Promise<GPUNode> => (await server.call(nodePath(node))).json() as GPUNode;
const getEnrollment = async (name: string): Promise<NodeEnrollment> =>
  (await server.call(`${fleetPath}/nodeenrollments/${name}`)).json() as NodeEnrollment;
const leases = (namespace: string): string => `${platformPath}/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
const lease = (name: string): object => ({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec: {} });
/** The reasons of the Warning Events about a node. */
const warnings = async (node: string): Promise<unknown[]> =>
  (await server.call(`${platformPath}/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=${node},type=Warning`))
    .json()
    .items!.map((event) => event['reason']);
const isAccepted = async (agent: Agent): Promise<boolean> => (await callAs(server, agent, nodePath(agent.node))).code === 200;

describe('the authority', () => {
  test('is public', async () => {
    const reply = await server.call('/capstan/authority', { anonymous: true });
    expect(reply.code).toBe(200);
    expect(new X509Certificate(reply.text).ca).toBe(true);
    expect((await server.call('/capstan/authority', { anonymous: true, method: 'POST', body: {} })).code).toBe(403);
  });
});

describe('enrolment', () => {
  test('creates the node, its namespace and its certificate', async () => {
    const key = newKey();
    const reply = await enroll(server, { token: await invite(server, 'a1'), node: 'a1', key });
    expect(reply.code).toBe(200);
    const issued = reply.json() as unknown as IssuedCertificate;
    const certificate = new X509Certificate(issued.certificate);
    const { metadata, status } = await getNode('a1');
    expect(certificate.subject.split('\n')).toEqual([
      'O=system:capstan-node-agents',
      'OU=generation:1',
      `OU=${metadata.uid}`,
      'CN=system:capstan-node-agent:a1',
    ]);
    expect(status?.identity).toMatchObject({ generation: 1, enrollment: (await getEnrollment('join-a1')).metadata.uid });
    expect(await isAccepted({ node: 'a1', key, certificate: issued.certificate })).toBe(true);
    expect((await server.call(`${platformPath}/api/v1/namespaces/node-a1`)).json().metadata.ownerReferences).toMatchObject([
      { name: 'a1', uid: metadata.uid },
    ]);
  });

  test('is repeated for the same key, and refused and reported for another', async () => {
    const token = await invite(server, 'a2');
    const key = newKey();
    expect((await enroll(server, { token, node: 'a2', key })).code).toBe(200);
    expect((await enroll(server, { token, node: 'a2', key })).code).toBe(200);
    expect((await getNode('a2')).status?.identity?.generation).toBe(1);
    const replay = await enroll(server, { token, node: 'a2', key: newKey() });
    expect([replay.code, refusalOf(replay)]).toEqual([403, 'TokenReplayed']);
    expect(await warnings('a2')).toEqual(['TokenReplayed']);
    expect((await getEnrollment('join-a2')).status?.replay).toBeDefined();
    expect(lines.join()).toContain('join-a2');
    // A spent token cannot fill the log.
    for (let index = 0; index < 5; index++) await enroll(server, { token, node: 'a2', key: newKey() });
    expect(lines.filter((line) => line.includes('join-a2'))).toHaveLength(1);
  });

  test('with one token and many keys at once succeeds for one of them', async () => {
    const token = await invite(server, 'a3');
    const replies = await Promise.all(Array.from({ length: 8 }, () => enroll(server, { token, node: 'a3', key: newKey() })));
    expect(replies.filter(({ code }) => code === 200)).toHaveLength(1);
  });

  test('does not bring back a node that was deleted', async () => {
    const token = await invite(server, 'a4');
    const key = newKey();
    await enroll(server, { token, node: 'a4', key });
    await server.call(nodePath('a4'), { method: 'DELETE' });
    expect(refusalOf(await enroll(server, { token, node: 'a4', key }))).toBe('NodeRemoved');
    expect((await server.call(nodePath('a4'))).code).toBe(404);
  });

  test('needs a valid token that has not expired', async () => {
    const expired = await invite(server, 'a5', { expiresAt: '2020-01-01T00:00:00Z' });
    const key = newKey();
    for (const token of [expired, `join-a2.${'x'.repeat(43)}`, 'nothing'])
      expect((await enroll(server, { token, node: 'a5', key })).code).toBe(401);
  });

  test('accepts only a request for the node of the token', async () => {
    const token = await invite(server, 'a6');
    expect(refusalOf(await enroll(server, { token, node: 'a1', key: newKey() }))).toBe('InvalidRequest');
  });

  test('gives its token no other right', async () => {
    const headers = { authorization: `Bearer ${await invite(server, 'a7')}` };
    for (const path of ['/api/v1/namespaces', `${fleetPath}/nodeenrollments`, `${fleetPath}/gpunodes/a7`, '/capstan/servers', '/version'])
      expect([path, (await server.call(path, { anonymous: true, headers })).code]).toEqual([path, 403]);
  });
});

describe('renewal', () => {
  test('replaces the key, and accepts the one before for a while', async () => {
    const first = await enrolled(server, 'b1');
    const second = await renewed(server, first);
    expect([await isAccepted(first), await isAccepted(second)]).toEqual([true, true]);
    const third = await renewed(server, second);
    expect([await isAccepted(first), await isAccepted(second), await isAccepted(third)]).toEqual([false, true, true]);
    expect((await getNode('b1')).status?.identity?.generation).toBe(3);
  });

  test('is repeated for an agent that did not receive the answer', async () => {
    const agent = await enrolled(server, 'b2');
    const next = newKey();
    expect((await renew(server, agent, next)).code).toBe(200);
    expect((await renew(server, agent, next)).code).toBe(200);
    expect((await getNode('b2')).status?.identity).toMatchObject({ generation: 2 });
  });

  test('of a copied identity locks the node, which another enrolment unlocks', async () => {
    const agent = await enrolled(server, 'b3');
    const right = await renewed(server, agent);
    const copy = await renew(server, agent, newKey());
    expect([copy.code, refusalOf(copy)]).toEqual([403, 'NodeLocked']);
    expect([await isAccepted(agent), await isAccepted(right)]).toEqual([false, false]);
    expect(refusalOf(await renew(server, right, newKey()))).toBe('NodeLocked');
    expect(await warnings(right.node)).toEqual(['NodeLocked']);
    const key = newKey();
    const again = await enroll(server, { token: await invite(server, 'b3', { name: 'again' }), node: 'b3', key });
    const { certificate } = again.json() as unknown as IssuedCertificate;
    expect(await isAccepted({ node: 'b3', key, certificate })).toBe(true);
    expect(await isAccepted(right)).toBe(false);
    expect(refusalOf(await renew(server, right, newKey()))).toBe('KeyReplaced');
  });

  test('needs the proof of the present key', async () => {
    const agent = await enrolled(server, 'b4');
    expect(refusalOf(await renew(server, { ...agent, key: newKey() }, newKey()))).toBe('InvalidRequest');
    expect((await getNode('b4')).status?.identity?.generation).toBe(1);
  });

  test('ends with the node, also if another of the same name follows', async () => {
    const agent = await enrolled(server, 'b5');
    await server.call(nodePath('b5'), { method: 'DELETE' });
    expect(refusalOf(await renew(server, agent, newKey()))).toBe('NodeRemoved');
    await server.call(`${platformPath}/api/v1/namespaces/node-b5`, { method: 'DELETE' });
    await server.call(`${platformPath}/api/v1/namespaces/node-b5/finalize`, {
      method: 'PUT',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'node-b5' }, spec: { finalizers: [] } },
    });
    const key = newKey();
    expect((await enroll(server, { token: await invite(server, 'b5', { name: 'later' }), node: 'b5', key })).code).toBe(200);
    expect(refusalOf(await renew(server, agent, newKey()))).toBe('NodeRemoved');
    expect(await isAccepted(agent)).toBe(false);
  });
});

describe('an agent that is no longer accepted', () => {
  test.each(['removed', 'kept', 'locked'])('loses its open connections when its node is %s', async (how) => {
    // `kept`: a finalizer delays the deletion, and must not keep the identity alive.
    const agent = await enrolled(server, `c-${how}`);
    const watch = await callAs(server, agent, `${fleetPath}/gpunodes?watch=true&fieldSelector=metadata.name%3Dc-${how}`);
    expect(watch.code).toBe(200);
    if (how === 'kept') {
      const headers = { 'content-type': 'application/merge-patch+json' };
      const body = { metadata: { finalizers: ['example.com/kept'] } };
      expect((await server.call(nodePath(agent.node), { method: 'PATCH', headers, body })).code).toBe(200);
    }
    if (how !== 'locked') await server.call(nodePath(agent.node), { method: 'DELETE' });
    else {
      await renewed(server, agent);
      await renew(server, agent, newKey());
    }
    await watch.ended;
    expect((await callAs(server, agent, nodePath(agent.node))).code).toBe(401);
  });
});

describe('an agent', () => {
  let agent: Agent;
  beforeAll(async () => {
    agent = await enrolled(server, 'd1');
    await enrolled(server, 'd2');
    await server.call(leases('node-d2'), { method: 'POST', body: lease('d2') });
    await server.call(leases('node-d1'), { method: 'POST', body: lease('theirs') });
  });
  const patch = (status: object) => ({ method: 'PATCH', type: 'application/merge-patch+json', body: { status } });
  const condition = { type: 'Ready', status: 'True', lastTransitionTime: '2031-01-01T00:00:00Z', reason: 'Up', message: '' };

  test.each([
    ['reads its node', nodePath('d1'), {}, 200],
    ['reads the status of its node', `${nodePath('d1')}/status`, {}, 200],
    ['writes the status of its node', `${nodePath('d1')}/status`, patch({ conditions: [condition] }), 200],
    ['lists its node by name', `${fleetPath}/gpunodes?fieldSelector=metadata.name%3Dd1`, {}, 200],
    ['creates its Lease', leases('node-d1'), { method: 'POST', body: lease('d1') }, 201],
    ['reads its Leases', leases('node-d1'), {}, 200],
    ['reads its units', `${fleetPath}/namespaces/node-d1/nodeunits`, {}, 200],
    [
      'writes the status of a unit, which does not exist',
      `${fleetPath}/namespaces/node-d1/nodeunits/any/status`,
      patch({ phase: 'Running' }),
      404,
    ],
    ['reads its volumes', `${fleetPath}/namespaces/node-d1/nodevolumes`, {}, 200],
    [
      'writes the status of a volume, which does not exist',
      `${fleetPath}/namespaces/node-d1/nodevolumes/any/status`,
      patch({ phase: 'Ready' }),
      404,
    ],
    ['reads its tasks', `${fleetPath}/namespaces/node-d1/nodetasks`, {}, 200],
    ['reads a script by name, which does not exist', `${fleetPath}/nodescripts/any`, {}, 404],
    ['reads the servers', '/capstan/servers', {}, 200],
    ['discovers the API', `${platformPath}/apis`, {}, 200],
  ] as const)('%s', async (_, path, call, code) => {
    expect((await callAs(server, agent, path, call)).code).toBe(code);
  });

  test.each([
    ['change its identity', `${nodePath('d1')}/status`, patch({ identity: { previousKey: 'a'.repeat(64) } })],
    [
      'write the spec of its node',
      nodePath('d1'),
      { method: 'PATCH', type: 'application/merge-patch+json', body: { spec: { comment: 'x' } } },
    ],
    ['delete its node', nodePath('d1'), { method: 'DELETE' }],
    [
      'create a node',
      `${fleetPath}/gpunodes`,
      { method: 'POST', body: { apiVersion: 'fleet.capstan.dev/v1alpha1', kind: 'GPUNode', metadata: { name: 'd3' } } },
    ],
    ['read another node', nodePath('d2'), {}],
    ['write the status of another node', `${nodePath('d2')}/status`, patch({ conditions: [condition] })],
    ['list all nodes', `${fleetPath}/gpunodes`, {}],
    ['list nodes by label', `${fleetPath}/gpunodes?labelSelector=a%3Db`, {}],
    ['delete all nodes', `${fleetPath}/gpunodes`, { method: 'DELETE' }],
    ['read the tasks of another node', `${fleetPath}/namespaces/node-d2/nodetasks`, {}],
    ['create tasks', `${fleetPath}/namespaces/node-d1/nodetasks`, { method: 'POST', body: {} }],
    [
      'write the spec of a task',
      `${fleetPath}/namespaces/node-d1/nodetasks/any`,
      { method: 'PATCH', type: 'application/merge-patch+json', body: { spec: { attempt: 2 } } },
    ],
    ['delete tasks', `${fleetPath}/namespaces/node-d1/nodetasks/any`, { method: 'DELETE' }],
    ['read the volumes of another node', `${fleetPath}/namespaces/node-d2/nodevolumes`, {}],
    ['read the volumes of all nodes', `${fleetPath}/nodevolumes`, {}],
    ['read volumes of another workspace', '/apis/fleet.capstan.dev/v1alpha1/namespaces/node-d1/nodevolumes', {}],
    ['write the status of a volume of another node', `${fleetPath}/namespaces/node-d2/nodevolumes/any/status`, patch({ phase: 'Ready' })],
    ['create volumes', `${fleetPath}/namespaces/node-d1/nodevolumes`, { method: 'POST', body: {} }],
    [
      'write the spec of a volume',
      `${fleetPath}/namespaces/node-d1/nodevolumes/any`,
      { method: 'PATCH', type: 'application/merge-patch+json', body: { spec: { deleted: true } } },
    ],
    ['delete volumes', `${fleetPath}/namespaces/node-d1/nodevolumes/any`, { method: 'DELETE' }],
    ['read the units of another node', `${fleetPath}/namespaces/node-d2/nodeunits`, {}],
    ['read the units of all nodes', `${fleetPath}/nodeunits`, {}],
    ['read units of another workspace', '/apis/fleet.capstan.dev/v1alpha1/namespaces/node-d1/nodeunits', {}],
    ['write the status of a unit of another node', `${fleetPath}/namespaces/node-d2/nodeunits/any/status`, patch({ phase: 'Running' })],
    ['create units', `${fleetPath}/namespaces/node-d1/nodeunits`, { method: 'POST', body: {} }],
    [
      'write the spec of a unit',
      `${fleetPath}/namespaces/node-d1/nodeunits/any`,
      { method: 'PATCH', type: 'application/merge-patch+json', body: { spec: { stopped: true } } },
    ],
    ['delete units', `${fleetPath}/namespaces/node-d1/nodeunits/any`, { method: 'DELETE' }],
    ['send secrets to its own units', `${fleetPath}/namespaces/node-d1/nodeunits/any/secrets`, { method: 'PUT', body: { env: {} } }],
    ['read the output of tasks', `${fleetPath}/namespaces/node-d1/nodetasks/any/log`, {}],
    ['list scripts', `${fleetPath}/nodescripts`, {}],
    ['watch scripts', `${fleetPath}/nodescripts?watch=true`, {}],
    ['write a script', `${fleetPath}/nodescripts/any`, { method: 'PUT', body: {} }],
    ['create a script', `${fleetPath}/nodescripts`, { method: 'POST', body: {} }],
    ['read scripts of another workspace', '/apis/fleet.capstan.dev/v1alpha1/nodescripts/any', {}],
    ['read enrolments', `${fleetPath}/nodeenrollments`, {}],
    ['read the Leases of another node', leases('node-d2'), {}],
    [
      'write the Lease of another node',
      `${leases('node-d2')}/d2`,
      { method: 'PATCH', type: 'application/merge-patch+json', body: { spec: {} } },
    ],
    ['delete its Lease', `${leases('node-d1')}/theirs`, { method: 'DELETE' }],
    ['read Leases in all namespaces', `${platformPath}/apis/coordination.k8s.io/v1/leases`, {}],
    ['read Leases of the root workspace', '/apis/coordination.k8s.io/v1/namespaces/node-d1/leases', {}],
    ['read secrets in its namespace', `${platformPath}/api/v1/namespaces/node-d1/secrets`, {}],
    ['read its namespace', `${platformPath}/api/v1/namespaces/node-d1`, {}],
    ['request certificates', '/apis/certificates.k8s.io/v1/certificatesigningrequests', {}],
    ['review accesses', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { method: 'POST', body: {} }],
    ['enter another workspace', '/clusters/root:other/api', {}],
    ['read metrics', '/metrics', {}],
    ['take a snapshot', '/capstan/snapshot', {}],
    ['enrol nodes', '/capstan/nodes/enroll', { method: 'POST', body: {} }],
  ] as const)('may not %s', async (_, path, call) => {
    expect((await callAs(server, agent, path, call)).code).toBe(403);
  });

  test('may not impersonate', async () => {
    const headers = { 'impersonate-user': 'kubernetes-admin', 'impersonate-group': 'system:masters' };
    expect((await callAs(server, agent, '/api/v1/namespaces', { headers })).code).toBe(403);
  });
});

test('a watch ends with the certificate that it was opened with', async () => {
  await using short = await startTestServer({ nodeCertificateLifetime: 2_000 });
  await createPlatform(short);
  const agent = await enrolled(short, 'e2');
  const watch = await callAs(short, agent, `${fleetPath}/gpunodes?watch=true&fieldSelector=metadata.name%3De2`);
  expect(watch.code).toBe(200);
  await watch.ended;
});

test('a certificate that expired can be renewed, and is good for nothing else', async () => {
  await using short = await startTestServer({ nodeCertificateLifetime: 1 });
  await createPlatform(short);
  const agent = await enrolled(short, 'e1');
  expect((await callAs(short, agent, nodePath('e1'))).code).toBe(401);
  const next = newKey();
  expect((await renew(short, agent, next)).code).toBe(200);
});
