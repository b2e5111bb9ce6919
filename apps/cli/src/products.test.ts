import { definedKinds, endpointSliceKind, type KindDefinition, productsNamespace } from '@capstan/api';
import { exportName, type PolicyRule, type Product } from '@capstan/platform';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { productsWith } from './products.ts';

const products = productsWith({});
const platform = '/clusters/root:platform';
const accounts = `${platform}/api/v1/namespaces/${productsNamespace}/serviceaccounts`;
const json = { apiVersion: 'v1' };

let cloud: Cloud;
beforeAll(async () => {
  cloud = await startCloud({ products, tenants: 1 });
  const body = { ...json, kind: 'ServiceAccount', metadata: { name: 'nobody' } };
  expect((await cloud.server.call(accounts, { method: 'POST', body })).code).toBe(201);
}, 120_000);
afterAll(() => cloud[Symbol.asyncDispose]());

const tokens = new Map<string, string>();
async function as(account: string, path: string, call: { method?: string; body?: object; headers?: Record<string, string> } = {}) {
  if (!tokens.has(account)) {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const made = await cloud.server.call(`${accounts}/${account}/token`, { method: 'POST', body });
    tokens.set(account, (made.json() as unknown as { status: { token: string } }).status.token);
  }
  const headers = { authorization: `Bearer ${tokens.get(account)}`, ...call.headers };
  return cloud.server.call(path, { ...call, anonymous: true, headers });
}

/** The rights of the account according to the server, one text for each rule. */
async function rulesOf(account: string, namespace: string): Promise<string[]> {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } };
  const reply = await as(account, `${platform}/apis/authorization.k8s.io/v1/selfsubjectrulesreviews`, { method: 'POST', body });
  expect(reply.code).toBe(201);
  const { status } = reply.json() as unknown as {
    status: { incomplete: boolean; resourceRules: PolicyRule[]; nonResourceRules: PolicyRule[] };
  };
  expect(status.incomplete).toBe(false);
  return [...status.resourceRules, ...status.nonResourceRules].map(textOf);
}

const sorted = (values: readonly string[] = []): readonly string[] => values.toSorted();
const textOf = (rule: PolicyRule): string => {
  const { apiGroups, resources, resourceNames, nonResourceURLs, verbs } = rule as Partial<Record<string, readonly string[]>>;
  return JSON.stringify([apiGroups, resources, resourceNames, nonResourceURLs, verbs].map(sorted));
};

/** Of every product: its own export, and events. */
const common = (product: Product): PolicyRule[] => [
  { apiGroups: ['apis.kcp.io'], resources: ['apiexports/content'], resourceNames: [exportName(product)], verbs: ['*'] },
  { apiGroups: ['apis.kcp.io'], resources: ['apiexportendpointslices'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] },
];

test('every kind of a product is in the list that the generated files and the tests of all definitions follow', () => {
  const namesOf = (kinds: readonly KindDefinition[]): string[] => kinds.map(({ group, resource }) => `${resource}.${group}`).toSorted();
  expect(namesOf(products.flatMap(({ kinds }) => kinds))).toEqual(namesOf(definedKinds));
});

describe.each(products.map((product) => [product.name, product] as const))('the account of the product %s', (name, product) => {
  test('has the rights of its role in root:platform, and no others than every account', async () => {
    for (const namespace of ['default', ...products.flatMap(({ namespaces = [] }) => namespaces.map((one) => one.name))]) {
      const everybody = new Set(await rulesOf('nobody', namespace));
      const found = (await rulesOf(name, namespace)).filter((rule) => !everybody.has(rule));
      const there = (product.namespaces ?? []).filter((one) => one.name === namespace).flatMap(({ rules }) => rules);
      const expected = [...common(product), ...product.rules, ...there].map(textOf);
      expect(new Set(found)).toEqual(new Set(expected));
    }
  });

  test('enters neither root, nor a tenant, nor all workspaces at once', async () => {
    const kinds = ['/api/v1/secrets', '/api/v1/namespaces', '/apis/compute.capstan.dev/v1alpha1/allocations'];
    for (const place of ['root', 'root:main', cloud.tenants[0]!.path, '*'])
      for (const kind of kinds) expect([place, kind, (await as(name, `/clusters/${place}${kind}`)).code]).toEqual([place, kind, 403]);
  });

  test('uses the view of its own export only', async () => {
    for (const other of products) {
      const slice = await cloud.platform.resource(endpointSliceKind).get(exportName(other));
      const view = new URL((slice as unknown as { status: { endpoints: { url: string }[] } }).status.endpoints[0]!.url).pathname;
      const { group, resource, version } = other.kinds.find((kind) => !other.catalogs?.includes(kind))!;
      const { code } = await as(name, `${view}/clusters/*/apis/${group}/${version}/${resource}`);
      expect([other.name, code]).toEqual([other.name, other === product ? 200 : 403]);
    }
  });

  test('acts neither as another account nor as an administrator', async () => {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    expect((await as(name, `${accounts}/nobody/token`, { method: 'POST', body })).code).toBe(403);
    const headers = { 'impersonate-user': 'kubernetes-admin', 'impersonate-group': 'system:masters' };
    expect((await as(name, `${platform}/api/v1/secrets`, { headers })).code).toBe(403);
  });
});
