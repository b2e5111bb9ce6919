import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Call, type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

const registration = '/apis/admissionregistration.k8s.io/v1beta1';
const machines = '/apis/compute.capstan.dev/v1/machines';
const created = 'capstan.dev/created-by';
const requested = 'capstan.dev/requested-by';
const merge = { 'content-type': 'application/merge-patch+json' };
const apply = { 'content-type': 'application/apply-patch+yaml' };

let server: TestServer;

/** `jane` and `joe` administrate the cluster; the account is one of the platform's controllers. */
const as = (user: string, path: string, call: Call = {}): Promise<Reply> =>
  server.call(path, { ...call, headers: { ...call.headers, 'impersonate-user': user, 'impersonate-group': 'system:masters' } });
const controller = 'system:serviceaccount:kube-system:compute';

const machine = (name: string, more: object = {}): object => ({
  apiVersion: 'compute.capstan.dev/v1',
  kind: 'Machine',
  metadata: { name },
  spec: { size: 1 },
  ...more,
});

function stampsOf(reply: Reply): [string | undefined, string | undefined] {
  expect(reply.code, reply.text).toBeLessThan(300);
  const { annotations = {} } = reply.json().metadata;
  return [annotations[created], annotations[requested]];
}

async function define(group: string, plural: string, kind: string): Promise<void> {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const subresources = { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' } };
  const versions = [{ name: 'v1', served: true, storage: true, schema, subresources }];
  const names = { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` };
  const definition = { metadata: { name: `${plural}.${group}` }, spec: { group, scope: 'Cluster', names, versions } };
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  expect((await server.call(path, { method: 'POST', body: definition })).code).toBe(201);
  await server.watchUntil(`${path}?watch=true&fieldSelector=metadata.name%3D${plural}.${group}`, ({ object }) =>
    JSON.stringify(object['status'] ?? {}).includes('"Established","status":"True"'),
  );
}

beforeAll(async () => {
  server = await startTestServer({ optionalVersions: ['admissionregistration.k8s.io/v1beta1'] });
  await define('compute.capstan.dev', 'machines', 'Machine');
  await define('example.com', 'toys', 'Toy');
});
afterAll(() => server[Symbol.asyncDispose]());

describe("an object of the platform's kinds", () => {
  it('names its creator, whatever the client sends', async () => {
    const body = machine('own', { metadata: { name: 'own', annotations: { [created]: 'root', [requested]: 'root', team: 'a' } } });
    const reply = await as('jane', machines, { method: 'POST', body });
    expect(stampsOf(reply)).toEqual(['jane', 'jane']);
    expect(reply.json().metadata.annotations).toMatchObject({ team: 'a' });
    expect(stampsOf(await as('joe', `${machines}?dryRun=All`, { method: 'POST', body: machine('dry') }))).toEqual(['joe', 'joe']);
  });

  it('names the user who last changed its spec; nobody can remove or choose the names', async () => {
    await as('jane', machines, { method: 'POST', body: machine('changed') });
    const path = `${machines}/changed`;
    const patch = (user: string, body: object, at = path): Promise<Reply> => as(user, at, { method: 'PATCH', headers: merge, body });
    expect(stampsOf(await patch('joe', { metadata: { labels: { a: 'b' }, annotations: { [requested]: 'joe' } } }))).toEqual([
      'jane',
      'jane',
    ]);
    expect(stampsOf(await patch('joe', { metadata: { annotations: null } }))).toEqual(['jane', 'jane']);
    expect(stampsOf(await patch('joe', { spec: { size: 2 } }))).toEqual(['jane', 'joe']);
    expect(stampsOf(await patch('jane', { spec: { size: 3 } }, `${path}?dryRun=All`))).toEqual(['jane', 'jane']);
    expect(stampsOf(await server.call(path))).toEqual(['jane', 'joe']);
    const status = { metadata: { annotations: { [requested]: 'x' } }, status: { phase: 'Ready' } };
    expect(stampsOf(await patch('jane', status, `${path}/status`))).toEqual(['jane', 'joe']);
    const { metadata, ...rest } = (await server.call(path)).json();
    const bare = { ...rest, metadata: { ...metadata, annotations: {} } };
    expect(stampsOf(await as('jane', path, { method: 'PUT', body: bare }))).toEqual(['jane', 'joe']);
  });

  it('names the user who last scaled it, unless that was a controller', async () => {
    await as('jane', machines, { method: 'POST', body: machine('scaled') });
    const [path, scale] = [`${machines}/scaled`, `${machines}/scaled/scale`];
    const stamps = async (): Promise<(string | undefined)[]> => stampsOf(await server.call(path));
    const to = (size: number) => ({ method: 'PATCH', headers: merge, body: { spec: { replicas: size } } });
    const reply = await as('joe', scale, to(4));
    expect([reply.code, reply.json().kind, reply.json().metadata.annotations]).toEqual([200, 'Scale', undefined]);
    expect(await stamps()).toEqual(['jane', 'joe']);
    expect((await as('jane', scale, to(4))).code).toBe(200);
    expect(await stamps()).toEqual(['jane', 'joe']);
    expect((await as(controller, scale, to(5))).code).toBe(200);
    expect(await stamps()).toEqual(['jane', 'joe']);
    expect((await as('jane', `${scale}?dryRun=All`, to(6))).code).toBe(200);
    expect(await stamps()).toEqual(['jane', 'joe']);
    const named = { ...to(7), body: { metadata: { annotations: { [requested]: 'evil' } }, spec: { replicas: 7 } } };
    expect((await as('jane', scale, named)).code).toBe(200);
    expect(await stamps()).toEqual(['jane', 'jane']);
    expect((await server.call(path)).json()['spec']).toEqual({ size: 7 });
  });

  it('keeps the names when controllers change it, and takes the name of the person from them', async () => {
    await as('jane', machines, { method: 'POST', body: machine('controlled') });
    const change = { method: 'PATCH', headers: merge, body: { spec: { size: 9 }, metadata: { annotations: { [requested]: 'evil' } } } };
    expect(stampsOf(await as(controller, `${machines}/controlled`, change))).toEqual(['jane', 'jane']);
    const child = machine('child', { metadata: { name: 'child', annotations: { [created]: 'x', [requested]: 'jane' } } });
    expect(stampsOf(await as(controller, machines, { method: 'POST', body: child }))).toEqual([controller, 'jane']);
  });

  it('can be applied with the names that were read, without owning them or conflicting', async () => {
    await as('jane', machines, { method: 'POST', body: machine('applied') });
    const read = (): Promise<KubeObject> => server.call(`${machines}/applied`).then((reply) => reply.json());
    for (const user of ['joe', 'jane']) {
      const { metadata, ...rest } = await read();
      const body = { ...rest, metadata: { name: 'applied', annotations: metadata.annotations }, spec: { size: 1, [user]: 'x' } };
      const reply = await as(user, `${machines}/applied?fieldManager=${user}`, { method: 'PATCH', headers: apply, body });
      expect(stampsOf(reply)).toEqual(['jane', user]);
      expect(JSON.stringify(reply.json().metadata.managedFields)).not.toContain('f:capstan.dev/');
    }
    const without = { apiVersion: 'compute.capstan.dev/v1', kind: 'Machine', metadata: { name: 'applied' }, spec: { size: 1, jane: 'x' } };
    const last = await as('jane', `${machines}/applied?fieldManager=jane`, { method: 'PATCH', headers: apply, body: without });
    expect(stampsOf(last)).toEqual(['jane', 'jane']);
  });

  it('cannot be stamped by a policy of a tenant', async () => {
    const resourceRules = [{ apiGroups: ['compute.capstan.dev'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }];
    const expression = `Object{metadata: Object.metadata{annotations: {"${created}": "evil", "${requested}": "evil"}}}`;
    const mutations = [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }];
    const spec = { matchConstraints: { resourceRules }, reinvocationPolicy: 'IfNeeded', failurePolicy: 'Fail', mutations };
    const made = await server.call(`${registration}/mutatingadmissionpolicies`, {
      method: 'POST',
      body: { metadata: { name: 'evil' }, spec },
    });
    expect(made.code, made.text).toBe(201);
    const binding = { metadata: { name: 'evil' }, spec: { policyName: 'evil' } };
    await server.call(`${registration}/mutatingadmissionpolicybindings`, { method: 'POST', body: binding });
    expect(stampsOf(await as('jane', machines, { method: 'POST', body: machine('policed') }))).toEqual(['jane', 'jane']);
    await server.call(`${registration}/mutatingadmissionpolicybindings/evil`, { method: 'DELETE' });
  });

  it('names the impersonated user, and the audit log names both', async () => {
    const reply = await as('jane', machines, { method: 'POST', body: machine('acted') });
    expect(stampsOf(reply)).toEqual(['jane', 'jane']);
    const line = readFileSync(join(server.directory, 'audit.log'), 'utf8')
      .split('\n')
      .find((text) => text.includes(String(reply.headers['audit-id'])))!;
    expect(JSON.parse(line)).toMatchObject({
      user: { username: 'kubernetes-admin' },
      impersonatedUser: { username: 'jane' },
      annotations: { 'tenancy.kcp.io/workspace': 'root' },
    });
  });
});

it('objects of other kinds carry no stamps', async () => {
  const toy = { apiVersion: 'example.com/v1', kind: 'Toy', metadata: { name: 'toy', annotations: { [created]: 'me' } } };
  expect(stampsOf(await as('jane', '/apis/example.com/v1/toys', { method: 'POST', body: toy }))).toEqual(['me', undefined]);
});
