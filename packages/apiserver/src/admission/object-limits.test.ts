import type { JsonObject, KubeObject, Parts } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Pace } from '../registry/pace.ts';
import { type Reply, startTestServer, type TestServer } from '../testing/harness.ts';
import { objectLimits } from './object-limits.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ limits: { objects: { expressions: 50, expressionCharacters: 2000, webhooks: 5, schemas: 100 } } });
});
afterAll(() => server[Symbol.asyncDispose]());

const registration = '/apis/admissionregistration.k8s.io/v1';
const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));
const post = (path: string, body: JsonObject): Promise<Reply> => server.call(path, { method: 'POST', body });

function policy(spec: JsonObject): JsonObject {
  const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }];
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'large' },
    spec: { matchConstraints: { resourceRules }, validations: [{ expression: 'true' }], ...spec },
  };
}

const hooks = (count: number, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'large' },
  webhooks: many(count, (index) => ({
    name: `w${index}.example.com`,
    clientConfig: { url: 'https://hook.example.com' },
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    rules: [],
    ...more,
  })),
});

function definition(schema: JsonObject): JsonObject {
  const openAPIV3Schema = { type: 'object', properties: { spec: schema } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'wides.example.com' },
    spec: {
      group: 'example.com',
      names: { plural: 'wides', kind: 'Wide' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

const conversion = (rules: JsonObject[]): JsonObject => ({
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'APIConversion',
  metadata: { name: 'today.wides.example.com' },
  spec: { conversions: [{ from: 'v1', to: 'v2', rules }] },
});

const issuers = (count: number, more: JsonObject): JsonObject => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'WorkspaceAuthenticationConfiguration',
  metadata: { name: 'issuers' },
  spec: {
    jwt: many(count, (index) => ({
      issuer: { url: `https://id${index}.example.com`, audiences: ['capstan'] },
      claimMappings: { username: { claim: 'sub', prefix: '' } },
      ...more,
    })),
  },
});

const wide = (count: number): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(many(count, (index) => [`p${index}`, { type: 'string' }])),
});

describe('objects that take too long to compile are rejected:', () => {
  it.each<[string, string, JsonObject, string]>([
    [
      'a policy with many variables',
      `${registration}/validatingadmissionpolicies`,
      policy({ variables: many(60, (index) => ({ name: `v${index}`, expression: '1' })) }),
      'has 61 expressions, the limit is 50',
    ],
    [
      'a policy with many validations',
      `${registration}/validatingadmissionpolicies`,
      policy({ validations: many(60, () => ({ expression: 'true' })) }),
      'has 60 expressions, the limit is 50',
    ],
    [
      'a policy with long expressions',
      `${registration}/validatingadmissionpolicies`,
      policy({ validations: [{ expression: `'${'a'.repeat(3000)}' == ''` }] }),
      'characters in expressions, the limit is 2000',
    ],
    ['many webhooks', `${registration}/validatingwebhookconfigurations`, hooks(6), 'has 6 webhooks, the limit is 5'],
    [
      'many conditions of webhooks',
      `${registration}/validatingwebhookconfigurations`,
      hooks(3, { matchConditions: many(20, (index) => ({ name: `c${index}`, expression: 'true' })) }),
      'has 60 expressions, the limit is 50',
    ],
    [
      'a definition with many properties',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      definition(wide(200)),
      'properties and other schemas, the limit is 100',
    ],
    [
      'a definition with long rules',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      definition({ type: 'object', 'x-kubernetes-validations': [{ rule: `'${'a'.repeat(3000)}' == ''` }] }),
      'characters in expressions, the limit is 2000',
    ],
    [
      'a conversion with many rules',
      '/apis/apis.kcp.io/v1alpha1/apiconversions',
      conversion(many(60, (index) => ({ field: `.spec.a${index}`, destination: `.spec.b${index}` }))),
      'has 60 expressions, the limit is 50',
    ],
    [
      'a conversion with long rules',
      '/apis/apis.kcp.io/v1alpha1/apiconversions',
      conversion([{ field: '.spec.a', destination: '.spec.b', transformation: `self + '${'a'.repeat(3000)}'` }]),
      'characters in expressions, the limit is 2000',
    ],
    [
      'issuers with many rules',
      '/apis/tenancy.kcp.io/v1alpha1/workspaceauthenticationconfigurations',
      issuers(3, { claimValidationRules: many(20, (index) => ({ claim: `c${index}`, requiredValue: 'x' })) }),
      'has 63 expressions, the limit is 50',
    ],
    [
      'issuers with long rules',
      '/apis/tenancy.kcp.io/v1alpha1/workspaceauthenticationconfigurations',
      issuers(1, { claimValidationRules: [{ expression: `'${'a'.repeat(3000)}' == ''` }] }),
      'characters in expressions, the limit is 2000',
    ],
    [
      'a claim with many long selectors of devices',
      '/apis/resource.k8s.io/v1/namespaces/default/resourceclaims',
      {
        apiVersion: 'resource.k8s.io/v1',
        kind: 'ResourceClaim',
        metadata: { name: 'claim' },
        spec: {
          devices: {
            requests: [
              { name: 'r', exactly: { deviceClassName: 'c', selectors: many(3, () => ({ cel: { expression: 'true'.padEnd(1000) } })) } },
            ],
          },
        },
      },
      'characters in expressions, the limit is 2000',
    ],
  ])('%s', async (_what, path, body, message) => {
    const reply = await post(`${path}?dryRun=All`, body);
    expect([reply.code, reply.json().message]).toEqual([422, expect.stringContaining(message)]);
  });

  it('but not those of an ordinary size', async () => {
    const ordinary = policy({
      variables: many(20, (index) => ({ name: `v${index}`, expression: index === 0 ? '1' : `variables.v${index - 1}` })),
    });
    expect((await post(`${registration}/validatingadmissionpolicies?dryRun=All`, ordinary)).code).toBe(201);
    expect((await post(`${registration}/validatingwebhookconfigurations?dryRun=All`, hooks(5))).code).toBe(201);
  });
});

describe('an object that is over a limit already', () => {
  const plugin = objectLimits({ webhooks: 5 });
  const change = (object: JsonObject, old: JsonObject): void =>
    void plugin.mutate!({
      operation: 'UPDATE',
      resource: {
        group: 'admissionregistration.k8s.io',
        resource: 'validatingwebhookconfigurations',
        kind: 'ValidatingWebhookConfiguration',
      },
      subresource: '',
      object: object as unknown as KubeObject,
      old: old as unknown as KubeObject,
      context: { pace: () => new Pace() },
    } as never);

  it('may be changed and made smaller', () => {
    expect(() => change(hooks(7), hooks(8))).not.toThrow();
  });

  it('may not grow', () => {
    expect(() => change(hooks(9), hooks(8))).toThrow('has 9 webhooks, the limit is 5');
  });
});

it('a large object is counted in parts', () => {
  const run = vi.fn((parts: Parts<unknown>) => [...parts].length);
  const properties = Object.fromEntries(many(5_000, (index) => [`p${index}`, { type: 'string' }]));
  void objectLimits().mutate!({
    operation: 'CREATE',
    resource: { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' },
    subresource: '',
    object: definition({ type: 'object', properties }),
    context: { pace: () => ({ run }) },
  } as never);
  expect(run.mock.results[0]!.value).toBeGreaterThan(10);
});
