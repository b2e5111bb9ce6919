import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compileSchema, type JsonObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { markerFile } from '../../registry/quarantine.ts';
import { type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

const registration = '/apis/admissionregistration.k8s.io/v1';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const patience = { timeout: 10_000 };

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ optionalVersions: ['admissionregistration.k8s.io/v1beta1'] });
});
afterAll(() => server[Symbol.asyncDispose]());

const post = (path: string, body: JsonObject): Promise<Reply> => server.call(path, { method: 'POST', body });
const get = async (path: string): Promise<JsonObject> => (await server.call(path)).json() as unknown as JsonObject;
const configMap = (name: string): Promise<Reply> =>
  post('/api/v1/namespaces/default/configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

interface WithConditions {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message: string }[] };
}

async function quarantined(path: string): Promise<{ status: string; message: string } | undefined> {
  const { status } = (await get(path)) as WithConditions;
  return status?.conditions?.find(({ type }) => type === 'Quarantined');
}

/** Stops the server as if it had been killed while it evaluated this. */
async function stopDuring(evaluated: { identity: string; name: string }): Promise<void> {
  // It stops twice: once may be an accident.
  for (let stop = 0; stop < 2; stop++)
    await server.restart(() => writeFileSync(join(server.directory, markerFile), `${JSON.stringify(evaluated)}\n`));
}

describe('a policy that the server was evaluating when it stopped', () => {
  it('is not evaluated again until it is changed, and says so', async () => {
    const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }];
    const spec = { matchConstraints: { resourceRules }, validations: [{ expression: "object.metadata.name != 'bad'" }] };
    const created = await post(`${registration}/validatingadmissionpolicies`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'slow' },
      spec,
    });
    await post(`${registration}/validatingadmissionpolicybindings`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'slow' },
      spec: { policyName: 'slow', validationActions: ['Deny'] },
    });
    await vi.waitFor(async () => expect((await configMap('bad')).code).toBe(422), patience);
    expect((await configMap('good')).code).toBe(201);
    const { uid, generation } = created.json().metadata;
    await stopDuring({ identity: `policy ${uid} ${generation}`, name: 'ValidatingAdmissionPolicy "slow"' });
    const refused = await configMap('other');
    expect([refused.code, refused.json().message]).toEqual([
      422,
      expect.stringContaining('ValidatingAdmissionPolicy "slow" is quarantined since'),
    ]);
    const path = `${registration}/validatingadmissionpolicies/slow`;
    await vi.waitFor(async () => expect(await quarantined(path)).toMatchObject({ status: 'True' }), patience);
    const changed = await server.call(path, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { validations: [{ expression: "object.metadata.name != 'worse'" }] } },
    });
    expect(changed.code).toBe(200);
    await vi.waitFor(async () => expect((await configMap('other')).code).toBe(201), patience);
    await vi.waitFor(async () => expect(await quarantined(path)).toBeUndefined(), patience);
  });
});

describe('a mutating policy that the server was evaluating when it stopped', () => {
  it('is not evaluated again until it is changed, and says so', async () => {
    const policies = '/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies';
    const apiVersion = 'admissionregistration.k8s.io/v1beta1';
    const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['secrets'] }];
    const mutations = (value: string): JsonObject[] => [
      {
        patchType: 'ApplyConfiguration',
        applyConfiguration: { expression: `Object{metadata: Object.metadata{labels: {"mutated": "${value}"}}}` },
      },
    ];
    const created = await post(policies, {
      apiVersion,
      kind: 'MutatingAdmissionPolicy',
      metadata: { name: 'slow' },
      spec: { matchConstraints: { resourceRules }, reinvocationPolicy: 'Never', mutations: mutations('first') },
    });
    expect(created.code).toBe(201);
    await post(`${policies.replace('policies', 'policybindings')}`, {
      apiVersion,
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name: 'slow' },
      spec: { policyName: 'slow' },
    });
    const secret = (name: string): Promise<Reply> =>
      post('/api/v1/namespaces/default/secrets?dryRun=All', { apiVersion: 'v1', kind: 'Secret', metadata: { name } });
    const label = (reply: Reply): unknown => reply.json().metadata.labels?.['mutated'];
    await vi.waitFor(async () => expect(label(await secret('one'))).toBe('first'), patience);
    const { uid, generation } = created.json().metadata;
    await stopDuring({ identity: `policy ${uid} ${generation}`, name: 'MutatingAdmissionPolicy "slow"' });
    const refused = await secret('two');
    expect([refused.code, refused.json().message]).toEqual([403, expect.stringContaining('"slow" is quarantined since')]);
    const annotations = async (): Promise<Readonly<Record<string, string>>> =>
      (await server.call(`${policies}/slow`)).json().metadata.annotations ?? {};
    const mark = expect.stringContaining('MutatingAdmissionPolicy "slow" is quarantined since') as string;
    await vi.waitFor(async () => expect(await annotations()).toEqual({ 'capstan.dev/quarantined': mark }), patience);
    await server.call(`${policies}/slow`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { mutations: mutations('second') } },
    });
    await vi.waitFor(async () => expect(label(await secret('three'))).toBe('second'), patience);
    await vi.waitFor(async () => expect(await annotations()).toEqual({}), patience);
  });
});

describe('a definition whose rules the server was evaluating when it stopped', () => {
  it('accepts no objects until it is changed, and says so', async () => {
    const versions = (rule: string): JsonObject[] => [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-validations': [{ rule }] } },
      },
    ];
    await post(definitions, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'slows.example.com' },
      spec: { group: 'example.com', names: { plural: 'slows', kind: 'Slow' }, scope: 'Cluster', versions: versions('true') },
    });
    const object = (name: string): Promise<Reply> =>
      post('/apis/example.com/v1/slows', { apiVersion: 'example.com/v1', kind: 'Slow', metadata: { name } });
    await vi.waitFor(async () => expect((await object('first')).code).toBe(201), patience);
    const stored = (await get(`${definitions}/slows.example.com`)) as { spec: { versions: { schema: { openAPIV3Schema: JsonObject } }[] } };
    const { hash } = compileSchema(stored.spec.versions[0]!.schema.openAPIV3Schema);
    await stopDuring({ identity: `schema ${hash}`, name: 'the rules of the CustomResourceDefinition "slows.example.com"' });
    const refused = await object('second');
    expect([refused.code, refused.json().message]).toEqual([422, expect.stringContaining('"slows.example.com" is quarantined since')]);
    const path = `${definitions}/slows.example.com`;
    await vi.waitFor(async () => expect(await quarantined(path)).toMatchObject({ status: 'True' }), patience);
    await server.call(path, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { versions: versions('true || false') } },
    });
    await vi.waitFor(async () => expect((await object('second')).code).toBe(201), patience);
    await vi.waitFor(async () => expect(await quarantined(path)).toMatchObject({ status: 'False' }), patience);
  });
});
