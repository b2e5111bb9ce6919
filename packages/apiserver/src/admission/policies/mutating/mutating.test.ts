import type { JsonObject } from '@capstan/machinery';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createWorkspace, type Reply, startTestServer } from '../../../testing/harness.ts';
import { addData, Bench, register } from '../../webhooks/testing.ts';

const apiVersion = 'admissionregistration.k8s.io/v1beta1';
const registration = `/apis/${apiVersion}`;
const configMaps = '/api/v1/namespaces/test/configmaps';
let bench: Bench;

beforeAll(async () => {
  bench = await Bench.start({ optionalVersions: [apiVersion] });
});

afterAll(() => bench[Symbol.asyncDispose]());

afterEach(async () => {
  await bench.reset();
  for (const resource of ['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings']) {
    await bench.server.call(`${registration}/${resource}`, { method: 'DELETE' });
  }
});

const post = (path: string, body: unknown): Promise<Reply> => bench.server.call(path, { method: 'POST', body });
const dataOf = (reply: Reply): unknown => reply.json()['data'];
const apply = (expression: string): JsonObject => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } });
const jsonPatch = (expression: string): JsonObject => ({ patchType: 'JSONPatch', jsonPatch: { expression } });

/** Creates a policy for ConfigMaps, unless the spec says otherwise, and its binding. */
async function enforce(name: string, mutation: JsonObject, spec: JsonObject = {}): Promise<void> {
  const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }];
  const policy = { matchConstraints: { resourceRules }, reinvocationPolicy: 'Never', mutations: [mutation], ...spec };
  const made = await post(`${registration}/mutatingadmissionpolicies`, { metadata: { name }, spec: policy });
  if (made.code !== 201) throw new Error(made.text);
  await post(`${registration}/mutatingadmissionpolicybindings`, { metadata: { name }, spec: { policyName: name } });
}

describe('mutating policies', () => {
  it('change the stored object without owning fields', async () => {
    await enforce('add', apply('Object{data: {"added": "yes"}}'));
    const reply = await bench.create();
    expect(dataOf(reply)).toEqual({ a: '1', added: 'yes' });
    expect(reply.json().metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1)).toEqual([{ 'f:data': { '.': {}, 'f:a': {} } }]);
  });

  it('run before webhooks, and again after them if reinvocation is allowed', async () => {
    bench.answer = ({ request }) => addData('hook', Object.keys(request.object['data'] as object).join());
    await bench.mutating('hook');
    const seen = apply('Object{data: {"policy": has(object.data.hook) ? "after" : "before"}}');
    await enforce('once', seen);
    expect(dataOf(await bench.create())).toEqual({ a: '1', policy: 'before', hook: 'a,policy' });
    await bench.server.call(`${registration}/mutatingadmissionpolicies/once`, { method: 'DELETE' });
    await enforce('again', seen, { reinvocationPolicy: 'IfNeeded' });
    expect(dataOf(await bench.create())).toEqual({ a: '1', policy: 'after', hook: 'a,policy' });
  });

  it('cause webhooks that allow it to be reinvoked', async () => {
    let asked = 0;
    bench.answer = () => addData('hook', String(++asked));
    await register(bench.server, 'mutating', 'hooks', [
      { name: 'a.test.io', clientConfig: bench.webhook.at('a'), reinvocationPolicy: 'IfNeeded' },
    ]);
    await enforce('late', apply('Object{data: {"policy": has(object.data.hook) ? "after" : "before"}}'), {
      reinvocationPolicy: 'IfNeeded',
    });
    expect(dataOf(await bench.create())).toEqual({ a: '1', policy: 'after', hook: '2' });
  });

  it('run in the order of their names, each on the result of the previous one', async () => {
    await enforce('b', apply('Object{data: {"second": string(size(object.data))}}'));
    await enforce('a', apply('Object{data: {"first": string(size(object.data))}}'));
    expect(dataOf(await bench.create())).toEqual({ a: '1', first: '1', second: '2' });
  });

  it('see the old object in updates, and do not run for deletions', async () => {
    await enforce('old', apply('Object{data: {"old": oldObject == null ? "" : oldObject.data.a}}'));
    const name = (await bench.create()).json().metadata.name!;
    const headers = { 'content-type': 'application/merge-patch+json' };
    const reply = await bench.server.call(`${configMaps}/${name}`, { method: 'PATCH', headers, body: { data: { a: '2' } } });
    expect(dataOf(reply)).toEqual({ a: '2', old: '1' });
    await enforce('broken', apply('Object{data: {"x": object.nope}}'));
    expect((await bench.server.call(`${configMaps}/${name}`, { method: 'DELETE' })).code).toBe(200);
  });

  it('apply only in their own workspace', async () => {
    await createWorkspace(bench.server, 'neighbour');
    const there = '/clusters/neighbour/api/v1/namespaces';
    await post(there, { metadata: { name: 'test' } });
    await enforce('add', apply('Object{data: {"added": "yes"}}'));
    expect(dataOf(await bench.create())).toEqual({ a: '1', added: 'yes' });
    expect(dataOf(await post(`${there}/test/configmaps`, { metadata: { name: 'c' }, data: { a: '1' } }))).toEqual({ a: '1' });
  });

  it('do not apply to policies and bindings', async () => {
    const resourceRules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }];
    await enforce('all', apply('Object{metadata: Object.metadata{labels: {"seen": "yes"}}}'), { matchConstraints: { resourceRules } });
    const other = await post(`${registration}/mutatingadmissionpolicybindings`, { metadata: { name: 'other' }, spec: { policyName: 'x' } });
    expect(other.json().metadata.labels).toBeUndefined();
    expect((await bench.create()).json().metadata.labels).toEqual({ seen: 'yes' });
  });

  it('run in the version that their rules name', async () => {
    const resourceRules = [{ apiGroups: ['autoscaling'], apiVersions: ['v1'], operations: ['*'], resources: ['*'] }];
    await enforce('v1', apply('Object{spec: Object.spec{targetCPUUtilizationPercentage: 42}}'), { matchConstraints: { resourceRules } });
    const body = {
      metadata: { name: 'h' },
      spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' } },
    };
    const reply = await post('/apis/autoscaling/v2/namespaces/test/horizontalpodautoscalers?dryRun=All', body);
    expect(reply.json()['spec']).toMatchObject({ metrics: [{ resource: { target: { averageUtilization: 42 } } }] });
  });

  it('can change subresources', async () => {
    const resourceRules = [{ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['deployments/scale'] }];
    await enforce('scale', apply('Object{spec: Object.spec{replicas: 7}}'), { matchConstraints: { resourceRules } });
    const labels = { app: 'a' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const deployments = '/apis/apps/v1/namespaces/test/deployments';
    await post(deployments, { metadata: { name: 'd' }, spec: { selector: { matchLabels: labels }, template } });
    const headers = { 'content-type': 'application/merge-patch+json' };
    await bench.server.call(`${deployments}/d/scale`, { method: 'PATCH', headers, body: { spec: { replicas: 2 } } });
    expect((await bench.server.call(`${deployments}/d`)).json()['spec']).toMatchObject({ replicas: 7 });
  });

  it('restore managed fields that a patch corrupts, with a warning', async () => {
    await enforce('owners', jsonPatch('[JSONPatch{op: "add", path: "/metadata/managedFields/0/operation", value: "Nope"}]'));
    const reply = await bench.create();
    expect(reply.code).toBe(201);
    expect(reply.headers['warning']).toContain('.metadata.managedFields was in an invalid state after admission');
    expect(reply.json().metadata.managedFields?.map(({ operation }) => operation)).toEqual(['Update']);
  });

  it('apply to dry runs', async () => {
    await enforce('add', apply('Object{data: {"added": "yes"}}'));
    const reply = await bench.create({}, '?dryRun=All');
    expect(dataOf(reply)).toEqual({ a: '1', added: 'yes' });
    expect((await bench.server.call(`${configMaps}/${reply.json().metadata.name}`)).code).toBe(404);
  });

  it('are shown by kubectl get', async () => {
    await enforce('add', apply('Object{}'));
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    const table = async (resource: string): Promise<unknown> => {
      const reply = await bench.server.call(`${registration}/${resource}`, { headers });
      const { columnDefinitions, rows } = reply.json() as never as { columnDefinitions: { name: string }[]; rows: { cells: unknown[] }[] };
      return [columnDefinitions.map(({ name }) => name), rows.map(({ cells }) => cells.slice(0, 3))];
    };
    expect(await table('mutatingadmissionpolicies')).toEqual([['Name', 'Mutations', 'ParamKind', 'Age'], [['add', 1, '<unset>']]]);
    expect(await table('mutatingadmissionpolicybindings')).toEqual([
      ['Name', 'PolicyName', 'ParamRef', 'Age'],
      [['add', 'add', '<unset>']],
    ]);
  });
});

describe('a hostile expression', () => {
  it.each([
    [
      'is too expensive',
      'Object{data: {"x": string(["a","b","c","d","e","f","g","h"].map(a, ["a","b","c","d","e","f","g","h"].map(b, ["a","b","c","d","e","f","g","h"].map(c, ["a","b","c","d","e","f","g","h"].map(d, ["a","b","c","d","e","f","g","h"].map(e, ["a","b","c","d","e","f","g","h"].map(f, f)))))).size())}}',
      'cost limit exceeded',
    ],
    [
      'builds a large string',
      'Object{data: {"x": "0123456789".matches("^0") ? object.data.large.replace("a", object.data.large) : ""}}',
      'denied request',
    ],
  ])('that %s fails, and the server survives', async (_, expression, why) => {
    await enforce('hostile', apply(expression));
    const reply = await bench.create({ data: { large: 'a'.repeat(5000) } } as never);
    expect([reply.code, reply.json().message]).toEqual([403, expect.stringContaining(why)]);
    expect((await bench.server.call('/readyz')).code).toBe(200);
  });

  it('cannot fill the memory by repeating the object', async () => {
    const tens = '[0,1,2,3,4,5,6,7,8,9]';
    await enforce(
      'copies',
      jsonPatch(`[JSONPatch{op: "add", path: "/data/x", value: ${tens}.map(a, ${tens}.map(b, ${tens}.map(c, object)))}]`),
    );
    const reply = await bench.create({ data: { large: 'a'.repeat(100_000) } } as never);
    expect(reply.json().message).toContain('the value is larger than 8388608 characters');
  });

  it('cannot reach prototypes', async () => {
    await enforce('proto', apply('Object{data: {"__proto__": "x", "constructor": "y"}}'));
    const reply = await bench.create();
    expect(Object.keys(dataOf(reply) as object).sort()).toEqual(['__proto__', 'a', 'constructor']);
    await enforce('path', jsonPatch('[JSONPatch{op: "add", path: "/__proto__/polluted", value: "x"}]'));
    expect((await bench.create()).code).toBe(403);
    expect(({} as JsonObject)['polluted']).toBeUndefined();
  });
});

describe('the optional version', () => {
  it('is not served by default', async () => {
    await using server = await startTestServer();
    const groups = (await server.call('/apis/admissionregistration.k8s.io')).json() as never as { versions: { version: string }[] };
    expect(groups.versions.map(({ version }) => version)).toEqual(['v1']);
    expect((await server.call(registration)).code).toBe(404);
    expect((await server.call(`${registration}/mutatingadmissionpolicies`)).code).toBe(404);
    expect((await server.call('/openapi/v3')).text).not.toContain('v1beta1');
    expect((await server.call('/openapi/v2')).text).not.toContain('MutatingAdmissionPolicy');
  });

  it('is listed after v1 in discovery and OpenAPI when enabled', async () => {
    const { server } = bench;
    const group = (await server.call('/apis/admissionregistration.k8s.io')).json() as never as {
      versions: { version: string }[];
      preferredVersion: object;
    };
    expect(group.versions.map(({ version }) => version)).toEqual(['v1', 'v1beta1']);
    expect(group.preferredVersion).toEqual({ groupVersion: 'admissionregistration.k8s.io/v1', version: 'v1' });
    const document = (await server.call('/openapi/v3/apis/admissionregistration.k8s.io/v1beta1')).text;
    expect(document).toContain('io.k8s.api.admissionregistration.v1beta1.MutatingAdmissionPolicy');
  });
});
