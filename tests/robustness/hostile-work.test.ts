import { type RunningCapstan, startCapstan } from '@capstan/testbed';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Answer, ApiClient } from './apiserver-client.ts';

const registration = '/apis/admissionregistration.k8s.io/v1';
const configMaps = '/api/v1/namespaces/default/configmaps';
const patiently = { timeout: 10_000 };
const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));

let server: RunningCapstan;
let client: ApiClient;
beforeAll(async () => {
  server = await startCapstan({ store: 'sqlite' });
  client = new ApiClient(server.kubeconfig);
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

const post = (path: string, value: object): Promise<Answer> => client.ask('POST', path, { type: 'application/json', value });
const configMap = (name: string): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

/** A policy of 5 KB: two lists of 2^40 elements, whose parts are shared, so that each takes some hundred bytes. */
function sharing(): object {
  const doubled = (letter: string) => (index: number) => {
    const before = `variables.${letter}${index - 1}`;
    return { name: `${letter}${index}`, expression: index === 0 ? "['a']" : `[${before}, ${before}]` };
  };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'sharing' },
    spec: {
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] }],
      },
      variables: [...many(41, doubled('v')), ...many(41, doubled('w'))],
      validations: [{ expression: 'variables.v40 == variables.w40' }],
    },
  };
}

describe('expressions that would never end', () => {
  test('are stopped, again after a restart, and the server lives', async () => {
    expect((await post(`${registration}/validatingadmissionpolicies`, sharing())).status).toBe(201);
    const binding = { policyName: 'sharing', validationActions: ['Deny'] };
    await post(`${registration}/validatingadmissionpolicybindings`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'sharing' },
      spec: binding,
    });
    const isStopped = async (): Promise<void> => {
      const answer = await post(configMaps, configMap('one'));
      expect([answer.status, answer.body]).toEqual([422, expect.stringContaining('cost limit exceeded')]);
    };
    await vi.waitFor(isStopped, patiently);
    await server.kill();
    await server.restart();
    await isStopped();
    expect(await client.ask('GET', '/livez')).toMatchObject({ status: 200 });
    await client.ask('DELETE', `${registration}/validatingadmissionpolicybindings/sharing`);
    await vi.waitFor(async () => expect((await post(configMaps, configMap('two'))).status).toBe(201), patiently);
  });
});

describe('a rule of a definition', () => {
  test('that doubles a list 24 times is stopped, and the server lives', async () => {
    const doubled = `self.list${'.map(x, [x, x])'.repeat(24)}`;
    const list = { type: 'array', maxItems: 1, items: { type: 'string', maxLength: 5 } };
    const schema = { type: 'object', properties: { list }, 'x-kubernetes-validations': [{ rule: `${doubled} == ${doubled}` }] };
    const made = await post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition(schema));
    expect(made.status).toBe(201);
    const stopped = async (): Promise<void> => {
      const value = { apiVersion: 'example.com/v1', kind: 'Doubling', metadata: { name: 'a' }, list: ['a'] };
      const answer = await post('/apis/example.com/v1/doublings', value);
      expect([answer.status, answer.body]).toEqual([422, expect.stringContaining('call cost exceeds limit for rule')]);
    };
    await vi.waitFor(stopped, patiently);
    expect(await client.ask('GET', '/livez')).toMatchObject({ status: 200 });
  });
});

const pod = (container: object, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a' },
  spec: { containers: [{ name: 'a', ...container }], ...more },
});

function definition(openAPIV3Schema: object, kind = 'Doubling'): object {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      names: { plural, kind },
      scope: 'Cluster',
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

describe('requests that cause much work are refused or done in parts, and the server lives:', () => {
  const wide = many(400, (index) => `x${index}`);
  const json = 'application/json';
  test.each<[string, () => Promise<Answer>, number]>([
    [
      'a policy with thousands of variables',
      () =>
        post(`${registration}/validatingadmissionpolicies?dryRun=All`, {
          ...sharing(),
          spec: { validations: [{ expression: 'true' }], variables: many(15_000, (index) => ({ name: `v${index}`, expression: '1' })) },
        }),
      422,
    ],
    [
      'a policy with 20,000 validations',
      () =>
        post(`${registration}/validatingadmissionpolicies?dryRun=All`, {
          ...sharing(),
          spec: { validations: many(20_000, (index) => ({ expression: `${index} == ${index}` })) },
        }),
      422,
    ],
    [
      'a configuration of 8,000 webhooks',
      () => {
        const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }];
        const hook = { rules, clientConfig: { url: 'https://localhost/' }, sideEffects: 'None', admissionReviewVersions: ['v1'] };
        return post(`${registration}/validatingwebhookconfigurations?dryRun=All`, {
          ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration', metadata: { name: 'many' } },
          webhooks: many(8_000, (index) => ({ name: `w${index}.example.com`, ...hook })),
        });
      },
      413,
    ],
    [
      'a configuration of 2,000 webhooks',
      () => {
        const hook = { clientConfig: { url: 'https://localhost/' }, sideEffects: 'None', admissionReviewVersions: ['v1'] };
        return post(`${registration}/validatingwebhookconfigurations?dryRun=All`, {
          ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration', metadata: { name: 'many' } },
          webhooks: many(2_000, (index) => ({ name: `w${index}.example.com`, ...hook })),
        });
      },
      422,
    ],
    [
      'a definition with an object of 21,000 properties',
      () => {
        const properties = Object.fromEntries(many(21_000, (index) => [`p${index}`, {}]));
        return post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All', definition({ type: 'object', properties }));
      },
      413,
    ],
    [
      'a definition with an object of 18,000 properties',
      () => {
        const properties = Object.fromEntries(many(18_000, (index) => [`p${index}`, { type: 'string' }]));
        return post(
          '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All',
          definition({ type: 'object', properties }, 'Wide'),
        );
      },
      201,
    ],
    [
      'a definition with 18,000 properties that are wrong',
      () => {
        const properties = Object.fromEntries(many(18_000, (index) => [`p${index}`, {}]));
        return post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All', definition({ type: 'object', properties }));
      },
      422,
    ],
    [
      'a field selector with hundreds of terms',
      () => client.ask('GET', `${configMaps}?fieldSelector=${many(300, (index) => `metadata.name!=n${index}`).join(',')}`),
      400,
    ],
    [
      'a pod whose image has 500,000 at signs and ends with a line',
      () => post('/api/v1/namespaces/default/pods?dryRun=All', pod({ image: `${'@'.repeat(500_000)}\n` })),
      201,
    ],
    [
      'a pod with a field path of 250,000 brackets',
      () => {
        const env = [{ name: 'A', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: "['".repeat(250_000) } } }];
        return post('/api/v1/namespaces/default/pods?dryRun=All', pod({ image: 'a', env }));
      },
      422,
    ],
    [
      'a pod with a volume of 500,000 wrong addresses',
      () => {
        const volumes = [{ name: 'v', quobyte: { registry: ','.repeat(500_000), volume: 'v' } }];
        return post('/api/v1/namespaces/default/pods?dryRun=All', pod({ image: 'a' }, { volumes }));
      },
      422,
    ],
    [
      'a webhook whose path has 500,000 empty segments',
      () => {
        const clientConfig = { service: { namespace: 'a', name: 'b', path: '/'.repeat(500_000) } };
        return post(`${registration}/validatingwebhookconfigurations?dryRun=All`, {
          ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration', metadata: { name: 'path' } },
          webhooks: [{ name: 'a.example.com', clientConfig, sideEffects: 'None', admissionReviewVersions: ['v1'] }],
        });
      },
      422,
    ],
    [
      'a ConfigMap with 99,000 keys',
      () => post(configMaps, { ...configMap('keys'), data: Object.fromEntries(many(99_000, (index) => [`k${index}`, ''])) }),
      413,
    ],
    [
      'a role with millions of permissions, by a user who has none of them',
      async () => {
        const rights = { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['create'] };
        const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' };
        await post('/apis/rbac.authorization.k8s.io/v1/clusterroles', { ...role, metadata: { name: 'creator' }, rules: [rights] });
        await post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
          ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: 'creator' } },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'creator' },
          subjects: [{ kind: 'User', name: 'eve' }],
        });
        const value = { ...role, metadata: { name: 'wide' }, rules: [{ apiGroups: wide, resources: wide, verbs: wide }] };
        return await vi.waitFor(async () => {
          const answer = await client.ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
            ...{ type: json, value },
            headers: { 'impersonate-user': 'eve' },
          });
          expect(answer.body).toContain('not currently held');
          expect(answer.body.length).toBeLessThan(64_000);
          return answer;
        }, patiently);
      },
      403,
    ],
    [
      'a JSON patch that moves a long list ten thousand times',
      async () => {
        const finalizers = many(20_000, (index) => `example.com/${index}`);
        await post(configMaps, { ...configMap('long'), metadata: { name: 'long', finalizers } });
        const value = many(10_000, () => ({ op: 'add', path: '/metadata/finalizers/0', value: 'example.com/new' }));
        return client.ask('PATCH', `${configMaps}/long`, { type: 'application/json-patch+json', value });
      },
      413,
    ],
    // Without their limits, some of them take minutes.
  ])('%s', { timeout: 40_000 }, async (_what, attack, status) => {
    const answer = await attack();
    expect(answer.status).toBe(status);
    if (status >= 400) expect(answer.body.length).toBeLessThan(100_000);
    expect(await client.ask('GET', '/livez')).toMatchObject({ status: 200 });
  });
});
