import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';
import { type Agent, callAs, createPlatform, enrolled, fleetPath, platform } from './testing/fleet.ts';

/** The rights of an agent are tested in `node-agents.test.ts`. Every object here exists, so that a refusal never hides behind a missing one. */
let server: TestServer;
let agent: Agent;
const platformPath = '/clusters/root:platform';
const core = `${platformPath}/api/v1`;
const own = 'namespaces/node-x1';
const other = 'namespaces/node-x2';
const merge = 'application/merge-patch+json';

beforeAll(async () => {
  server = await startTestServer();
  await createPlatform(server);
  agent = await enrolled(server, 'x1');
  await enrolled(server, 'x2');
  const make = async (path: string, body: object): Promise<void> => {
    const reply = await server.call(path, { method: 'POST', body });
    if (reply.code !== 201) throw new Error(`${path}: ${reply.text}`);
  };
  await make(`${core}/namespaces`, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
  for (const namespace of [own, other, 'namespaces/default']) {
    await make(`${core}/${namespace}/secrets`, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'b' } });
    await make(`${core}/${namespace}/configmaps`, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } });
    await make(`${core}/${namespace}/serviceaccounts`, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'a' } });
  }
  const task = (name: string) => ({
    apiVersion: 'fleet.capstan.dev/v1alpha1',
    kind: 'NodeTask',
    metadata: { name },
    spec: { type: 'gpu.inspect', gpuInspect: {} },
  });
  await make(`${fleetPath}/${own}/nodetasks`, task('mine'));
  await make(`${fleetPath}/${other}/nodetasks`, task('theirs'));
  const fleet = (kind: string, name: string, spec: object) => ({
    apiVersion: 'fleet.capstan.dev/v1alpha1',
    kind,
    metadata: { name },
    spec,
  });
  for (const name of ['x1', 'x2']) await make(`${fleetPath}/nodebookings`, fleet('NodeBooking', name, { entries: [] }));
  await make(`${fleetPath}/nodescripts`, fleet('NodeScript', 'script', { content: '#!/bin/sh\n' }));
});
afterAll(() => server[Symbol.asyncDispose]());

const body = (spec: object) => ({ method: 'PATCH', type: merge, body: { spec } });
const status = (value: object) => ({ method: 'PATCH', type: merge, body: { status: value } });
const post = (value: object = {}) => ({ method: 'POST', body: value });

const bookings = `${fleetPath}/nodebookings`;
const entry = { entries: [] };

const nodes = [
  ['read the status of another node', `${fleetPath}/gpunodes/x2/status`, {}],
  ['replace the status of another node', `${fleetPath}/gpunodes/x2/status`, { method: 'PUT', body: {} }],
  [
    'apply to another node',
    `${fleetPath}/gpunodes/x2/status?fieldManager=a`,
    { method: 'PATCH', type: 'application/apply-patch+yaml', body: {} },
  ],
  ['read the metrics of another node', `${fleetPath}/gpunodes/x2/metrics`, {}],
  ['read its own metrics through the server', `${fleetPath}/gpunodes/x1/metrics`, {}],
  ['cordon itself', `${fleetPath}/gpunodes/x1`, body({ unschedulable: true })],
  ['watch all nodes', `${fleetPath}/gpunodes?watch=true`, {}],
  ['watch another node', `${fleetPath}/gpunodes?watch=true&fieldSelector=metadata.name%3Dx2`, {}],
  ['list others by a negative selector', `${fleetPath}/gpunodes?fieldSelector=metadata.name!%3Dx1`, {}],
  ['delete its own node by a selector', `${fleetPath}/gpunodes?fieldSelector=metadata.name%3Dx1`, { method: 'DELETE' }],
] as const;

const tasks = [
  ['read a task of another node', `${fleetPath}/${other}/nodetasks/theirs`, {}],
  ['watch the tasks of another node', `${fleetPath}/${other}/nodetasks?watch=true`, {}],
  ['report on a task of another node', `${fleetPath}/${other}/nodetasks/theirs/status`, status({ phase: 'Succeeded' })],
  ['list tasks in all namespaces', `${fleetPath}/nodetasks`, {}],
  ['watch tasks in all namespaces', `${fleetPath}/nodetasks?watch=true`, {}],
  ['retry its task', `${fleetPath}/${own}/nodetasks/mine`, body({ attempt: 2 })],
  ['change what its task does', `${fleetPath}/${own}/nodetasks/mine`, { method: 'PUT', body: {} }],
  ['delete its tasks', `${fleetPath}/${own}/nodetasks`, { method: 'DELETE' }],
  ['give itself a task', `${fleetPath}/${own}/nodetasks`, post({ kind: 'NodeTask' })],
  ['read the output of a task of another node', `${fleetPath}/${other}/nodetasks/theirs/log`, {}],
  ['change a script', `${fleetPath}/nodescripts/script`, body({ content: 'x' })],
  ['delete a script', `${fleetPath}/nodescripts/script`, { method: 'DELETE' }],
] as const;

const grants = [
  ['list bookings', bookings, {}],
  ['watch bookings', `${bookings}?watch=true`, {}],
  ['read its own booking', `${bookings}/x1`, {}],
  ['change its own booking', `${bookings}/x1`, body(entry)],
  ['change that of another node', `${bookings}/x2`, body(entry)],
  ['delete its own booking', `${bookings}/x1`, { method: 'DELETE' }],
  ['create a booking', bookings, post({ kind: 'NodeBooking' })],
  ['read its enrolment', `${fleetPath}/nodeenrollments/join-x1`, {}],
  ['watch enrolments', `${fleetPath}/nodeenrollments?watch=true`, {}],
  ['create an enrolment', `${fleetPath}/nodeenrollments`, post({ kind: 'NodeEnrollment' })],
  ['open an enrolment again', `${fleetPath}/nodeenrollments/join-x1/status`, status({})],
  ['delete enrolments', `${fleetPath}/nodeenrollments`, { method: 'DELETE' }],
] as const;

const rest = [
  ['list the secrets of its namespace', `${core}/${own}/secrets`, {}],
  ['list a secret of its namespace by its name', `${core}/${own}/secrets?fieldSelector=metadata.name%3Ds`, {}],
  ['watch the secrets of its namespace', `${core}/${own}/secrets?watch=true`, {}],
  ['create a secret in its namespace', `${core}/${own}/secrets`, post({ metadata: { name: 'new' } })],
  ['change a secret of its namespace', `${core}/${own}/secrets/s`, { method: 'PATCH', type: merge, body: { stringData: { a: 'c' } } }],
  ['delete a secret of its namespace', `${core}/${own}/secrets/s`, { method: 'DELETE' }],
  ['read a secret of another node', `${core}/${other}/secrets/s`, {}],
  ['read a secret of the platform', `${core}/namespaces/default/secrets/s`, {}],
  ['watch all secrets', `${core}/secrets?watch=true`, {}],
  ['read the secrets of the root workspace', '/api/v1/secrets', {}],
  ['read a ConfigMap of its namespace', `${core}/${own}/configmaps/c`, {}],
  ['create a ConfigMap in its namespace', `${core}/${own}/configmaps`, post({ metadata: { name: 'new' } })],
  ['get a token of a service account', `${core}/${own}/serviceaccounts/a/token`, post({ spec: {} })],
  ['create a pod', `${core}/${own}/pods`, post({ metadata: { name: 'p' } })],
  ['read pods', `${core}/${own}/pods`, {}],
  ['run a command in a pod', `${core}/${own}/pods/p/exec?command=id`, post()],
  ['attach to a pod', `${core}/${own}/pods/p/attach`, post()],
  ['forward a port of a pod', `${core}/${own}/pods/p/portforward`, post()],
  ['read the log of a pod', `${core}/${own}/pods/p/log`, {}],
  ['proxy to a pod', `${core}/${own}/pods/p/proxy/`, {}],
  ['proxy to a service', `${core}/${own}/services/s/proxy/`, {}],
  ['read the nodes of Kubernetes', '/api/v1/nodes', {}],
  ['proxy to a kubelet', '/api/v1/nodes/x1/proxy/pods', {}],
  ['create an event', `${core}/${own}/events`, post({ metadata: { name: 'e' } })],
  ['list its namespaces', `${core}/namespaces`, {}],
  ['delete its namespace', `${core}/${own}`, { method: 'DELETE' }],
  ['give itself rights', `${platformPath}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`, post({ metadata: { name: 'r' } })],
  ['read roles', `${platformPath}/apis/rbac.authorization.k8s.io/v1/clusterroles`, {}],
  ['define kinds', `${platformPath}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`, post()],
  ['install a webhook', `${platformPath}/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations`, post()],
  ['read workspaces', '/apis/tenancy.kcp.io/v1alpha1/workspaces', {}],
  ['create a workspace', '/apis/tenancy.kcp.io/v1alpha1/workspaces', post()],
  ['enter the workspace by its id, for other objects', `/clusters/${platform}/api/v1/${other}/secrets/s`, {}],
  ['read all workspaces at once', '/clusters/*/api/v1/secrets', {}],
  ['read a view of an export', '/services/apiexport/root/fleet.capstan.dev/clusters/*/api/v1/secrets', {}],
  ['request a certificate', '/apis/certificates.k8s.io/v1/certificatesigningrequests', post({ metadata: { name: 'r' } })],
  ['approve certificates', '/apis/certificates.k8s.io/v1/certificatesigningrequests/r/approval', { method: 'PUT', body: {} }],
  ['sign certificates', '/apis/certificates.k8s.io/v1/certificatesigningrequests/r/status', { method: 'PUT', body: {} }],
  ['review the access of others', '/apis/authorization.k8s.io/v1/subjectaccessreviews', post()],
  ['review tokens', '/apis/authentication.k8s.io/v1/tokenreviews', post()],
  ['read its own user', '/apis/authentication.k8s.io/v1/selfsubjectreviews', post()],
  ['list artifacts', '/capstan/artifacts', {}],
  ['add an artifact', `/capstan/artifacts/${'a'.repeat(64)}?offset=0&size=1`, { method: 'PUT', body: {} }],
  ['remove an artifact', `/capstan/artifacts/${'a'.repeat(64)}`, { method: 'DELETE' }],
  ['read the audit log', '/capstan/audit', {}],
  ['reach the nodes of others', '/capstan/relay', post()],
  ['read debugging pages', '/debug/pprof/', {}],
  ['read the Lease of an API server', '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases', {}],
  ['write a Lease of the platform', `${platformPath}/apis/coordination.k8s.io/v1/namespaces/kube-system/leases`, post()],
  ['fill the store with Leases', `${platformPath}/apis/coordination.k8s.io/v1/${own}/leases`, post({ metadata: { name: 'another' } })],
  ['delete its Leases', `${platformPath}/apis/coordination.k8s.io/v1/${own}/leases`, { method: 'DELETE' }],
] as const;

test('an agent may read a secret of its namespace by its name', async () => {
  const { code, text } = await callAs(server, agent, `${core}/${own}/secrets/s`);
  expect(code).toBe(200);
  expect(JSON.parse(text)).toMatchObject({ metadata: { name: 's', namespace: 'node-x1' }, data: { a: 'Yg==' } });
});

describe('an agent may not', () => {
  test.each([...nodes, ...tasks, ...grants, ...rest])('%s', async (_, path, call) => {
    const { code, text } = await callAs(server, agent, path, call);
    expect([code, text]).toEqual([403, expect.any(String)]);
    expect(text).not.toContain('stringData');
  });

  test.each([
    { 'impersonate-user': 'system:capstan-node-agent:x2', 'impersonate-group': 'system:capstan-node-agents' },
    { 'impersonate-user': 'system:admin', 'impersonate-group': 'system:masters' },
    { 'impersonate-user': 'system:capstan-node-agent:x1', 'impersonate-uid': 'other' },
    { 'impersonate-user': 'system:serviceaccount:node-x1:a' },
  ])('impersonate with %j', async (headers) => {
    for (const path of [`${fleetPath}/gpunodes/x1`, `${fleetPath}/gpunodes/x2`, '/api/v1/namespaces'])
      expect((await callAs(server, agent, path, { headers })).code).toBe(403);
  });

  test('see another node beside its own in one list', async () => {
    for (const [names, expected] of [
      ['x1,metadata.name%3Dx2', [200, 403]],
      ['x2,metadata.name%3Dx1', [200, 403]],
    ] as const) {
      const { code, text } = await callAs(server, agent, `${fleetPath}/gpunodes?fieldSelector=metadata.name%3D${names}`);
      expect(expected).toContain(code);
      expect(text).not.toContain('"uid"');
    }
  });

  test('gain rights by a role', async () => {
    const subjects = [
      { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'system:capstan-node-agent:x1' },
      { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:capstan-node-agents' },
    ];
    const roleRef = { kind: 'ClusterRole', apiGroup: 'rbac.authorization.k8s.io', name: 'cluster-admin' };
    for (const place of ['', platformPath])
      await server.call(`${place}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`, {
        method: 'POST',
        body: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: 'too-much' }, subjects, roleRef },
      });
    for (const path of [`${core}/${other}/secrets/s`, '/api/v1/secrets', `${fleetPath}/gpunodes/x2`])
      expect((await callAs(server, agent, path)).code).toBe(403);
  });

  test('use the key of another node with its own certificate, or the other way round', async () => {
    const next = await enrolled(server, 'x3');
    await expect(callAs(server, { key: next.key, certificate: agent.certificate }, `${fleetPath}/gpunodes/x1`)).rejects.toThrow();
  });
});
