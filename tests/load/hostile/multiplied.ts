import { type Attack, asking, type Request } from './means.ts';
import { configMaps, type World } from './world.ts';

const many = <Item>(count: number, make: (index: number) => Item): Item[] => Array.from({ length: count }, (_, index) => make(index));
const within = ({ attacker }: World, path: string): string => `/clusters/${attacker.cluster}/apis/${path}`;
const post = (path: string, value: object): Request => ({ method: 'POST', path, body: JSON.stringify(value) });

const rbac = 'rbac.authorization.k8s.io/v1';
const wide = many(400, (index) => `x${index}`);
const wideRole = JSON.stringify({ metadata: { name: 'wide' }, rules: [{ apiGroups: wide, resources: wide, verbs: wide }] });

/** Roles of somebody who may create some, but has none of their permissions. */
const roles: Attack = {
  ...asking(8, (world) => ({
    method: 'POST',
    path: within(world, `${rbac}/clusterroles?dryRun=All`),
    headers: { 'impersonate-user': 'eve' },
    body: wideRole,
  })),
  before: (world) => [
    post(within(world, `${rbac}/clusterroles`), {
      metadata: { name: 'creator' },
      rules: [
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['create'] },
        { nonResourceURLs: ['/'], verbs: ['access'] },
      ],
    }),
    post(within(world, `${rbac}/clusterrolebindings`), {
      metadata: { name: 'creator' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'creator' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'eve' }],
    }),
  ],
  after: (world) => [
    { method: 'DELETE', path: within(world, `${rbac}/clusterrolebindings/creator`) },
    { method: 'DELETE', path: within(world, `${rbac}/clusterroles/creator`) },
  ],
};

const finalizers = many(20_000, (index) => `example.com/${index}`);
const insertions = JSON.stringify(many(10_000, () => ({ op: 'add', path: '/metadata/finalizers/0', value: 'example.com/new' })));

/** Patches that move a long list with each of their operations. */
const headInserts: Attack = {
  ...asking(8, ({ attacker }) => ({
    method: 'PATCH',
    path: `${configMaps(attacker.cluster)}/long`,
    headers: { 'content-type': 'application/json-patch+json' },
    body: insertions,
  })),
  before: ({ attacker }) => [post(configMaps(attacker.cluster), { metadata: { name: 'long', finalizers } })],
  after: ({ attacker }) => [
    {
      method: 'PATCH',
      path: `${configMaps(attacker.cluster)}/long`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ metadata: { finalizers: null } }),
    },
    { method: 'DELETE', path: `${configMaps(attacker.cluster)}/long` },
  ],
};

const definitions = 'apiextensions.k8s.io/v1/customresourcedefinitions';

function definitionOf(kind: string, openAPIV3Schema: object): object {
  const plural = `${kind.toLowerCase()}s`;
  return {
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      names: { plural, kind },
      scope: 'Cluster',
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

const properties = Object.fromEntries(many(18_000, (index) => [`p${index}`, { type: 'string' }]));
const wideDefinition = JSON.stringify(definitionOf('Wide', { type: 'object', properties }));

const doubled = `self.list${'.map(x, [x, x])'.repeat(24)}`;
const list = { type: 'array', maxItems: 1, items: { type: 'string', maxLength: 5 } };
const doubling = { type: 'object', properties: { list }, 'x-kubernetes-validations': [{ rule: `${doubled} == ${doubled}` }] };

/** Objects of a definition whose rule doubles a list 24 times. */
const nestedMaps: Attack = {
  ...asking(16, (world, index) =>
    post(within(world, 'example.com/v1/doublings?dryRun=All'), {
      ...{ apiVersion: 'example.com/v1', kind: 'Doubling', metadata: { name: `d${index}` } },
      list: ['a'],
    }),
  ),
  before: (world) => [post(within(world, definitions), definitionOf('Doubling', doubling))],
  after: (world) => [{ method: 'DELETE', path: within(world, `${definitions}/doublings.example.com`) }],
};

const webhooks = (count: number): string => {
  const hook = { clientConfig: { url: 'https://localhost/' }, sideEffects: 'None', admissionReviewVersions: ['v1'] };
  return JSON.stringify({ metadata: { name: 'many' }, webhooks: many(count, (index) => ({ name: `w${index}.example.com`, ...hook })) });
};
/** Refused, and as many as are allowed. */
const configurations = [webhooks(2_000), webhooks(250)];

const terms = (count: number): string => many(count, (index) => `metadata.name!=n${index}`).join(',');
const selectors = [terms(300), terms(256)];

/** Requests that cause far more work than their size suggests. */
export const multiplied: readonly (readonly [string, Attack])[] = [
  ['roles of 400 × 400 × 400 permissions, 8 connections', roles],
  ['JSON patches of 10,000 head inserts, 8 connections', headInserts],
  [
    'definitions of 18,000 properties, 8 connections',
    asking(8, (world) => ({ method: 'POST', path: within(world, `${definitions}?dryRun=All`), body: wideDefinition })),
  ],
  ['a rule with 24 nested maps, 16 connections', nestedMaps],
  [
    'webhook configurations of 2,000 and of 250, 8 connections',
    asking(8, (world, index) => ({
      method: 'POST',
      path: within(world, 'admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All'),
      body: configurations[index % 2]!,
    })),
  ],
  [
    'field selectors of 300 and of 256 terms, 16 connections',
    asking(16, ({ attacker }, index) => ({
      method: 'GET',
      path: `${configMaps(attacker.cluster)}?limit=500&fieldSelector=${selectors[index % 2]!}`,
    })),
  ],
];
