import { rootCluster } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { beforeEach, describe, expect, it } from 'vitest';
import { rbacAuthorizer } from '../authz/authorizer.ts';
import { asking, MemoryObjects } from '../authz/testing.ts';
import { objectsOfNamespace, serverObjects } from './core.ts';
import { bootstrapObjects } from './objects.ts';
import { ownControllerRoles } from './own-roles.ts';
import { repairs } from './reconcile.ts';
import { parseRule } from './rule-text.ts';

const now = new Date('2026-01-01T00:00:00Z');
let objects: MemoryObjects;

function settle(): number {
  const list = repairs(bootstrapObjects(now), objects, rootCluster);
  for (const { resource, object } of list) objects.put(resource, object);
  return list.length;
}

beforeEach(() => {
  objects = new MemoryObjects();
  settle();
});

const named = (kind: string, name: string): KubeObject =>
  bootstrapObjects(now).find((object) => object.kind === kind && object.metadata.name === name)!;

describe('bootstrapObjects', () => {
  it('has as many objects of each kind as Kubernetes 1.34, plus our own', () => {
    // One for each of our controllers.
    const own = Object.keys(ownControllerRoles).length;
    const counts = Object.groupBy(bootstrapObjects(now), ({ kind }) => kind);
    expect(Object.fromEntries(Object.entries(counts).map(([kind, list]) => [kind, list!.length]))).toEqual({
      Namespace: 4,
      ClusterRole: 68 + own,
      // Three with which kubelets join, and one for the API server, which Kubernetes leaves to installers.
      ClusterRoleBinding: 49 + own + 4,
      Role: 7 + 1,
      RoleBinding: 7 + 1,
      // One for node agents.
      FlowSchema: 11 + 1,
      PriorityLevelConfiguration: 8 + 1,
      PriorityClass: 2,
      ServiceCIDR: 1,
    });
  });

  it('has no object twice, and binds only existing roles', () => {
    const all = bootstrapObjects(now);
    const id = ({ kind, metadata }: KubeObject): string => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;
    const ids = new Set(all.map(id));
    expect(ids.size).toBe(all.length);
    for (const { kind, metadata, roleRef } of all) {
      if (!kind.endsWith('Binding')) continue;
      const role = roleRef as { kind: string; name: string };
      expect(ids).toContain(`${role.kind}/${role.kind === 'Role' ? metadata.namespace : ''}/${role.name}`);
    }
  });

  it('grants through the user-facing roles what they promise', () => {
    const rbac = rbacAuthorizer(objects);
    const give = (role: string): void => {
      objects.put(
        { group: 'rbac.authorization.k8s.io', resource: 'rolebindings' },
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'RoleBinding',
          metadata: { name: 'b', namespace: 'shop' },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
          subjects: [{ kind: 'User', name: 'jane' }],
        },
      );
    };
    const may = (verb: string, resource: string, group = ''): boolean =>
      rbac.authorize(asking({ name: 'jane', groups: ['system:authenticated'] }, verb, { resource, group, namespace: 'shop' })).allowed;
    const actions = (): boolean[] => [
      may('list', 'pods'),
      may('get', 'secrets'),
      may('create', 'deployments', 'apps'),
      may('create', 'roles', 'rbac.authorization.k8s.io'),
      may('delete', 'resourcequotas'),
    ];
    give('view');
    expect(actions()).toEqual([true, false, false, false, false]);
    give('edit');
    expect(actions()).toEqual([true, true, true, false, false]);
    give('admin');
    expect(actions()).toEqual([true, true, true, true, false]);
    give('cluster-admin');
    expect(actions()).toEqual([true, true, true, true, true]);
  });

  it('lets editors open streams to pods, viewers read their logs, and the server itself call kubelets', () => {
    const rbac = rbacAuthorizer(objects);
    const may = (subject: string, verb: string, subresource: string): boolean =>
      rbac.authorize(asking({ name: subject, groups: [] }, verb, { resource: 'pods', subresource, namespace: 'shop' })).allowed;
    for (const role of ['admin', 'edit', 'view']) {
      objects.put(
        { group: 'rbac.authorization.k8s.io', resource: 'rolebindings' },
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'RoleBinding',
          metadata: { name: role, namespace: 'shop' },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
          subjects: [{ kind: 'User', name: role }],
        },
      );
    }
    for (const subresource of ['exec', 'attach', 'portforward', 'proxy']) {
      for (const verb of ['get', 'create']) {
        const allowed = ['admin', 'edit', 'view'].map((role) => may(role, verb, subresource));
        expect([verb, subresource, ...allowed]).toEqual([verb, subresource, true, true, false]);
      }
    }
    expect(['admin', 'edit', 'view'].map((role) => may(role, 'get', 'log'))).toEqual([true, true, true]);
    const server = { name: 'kube-apiserver-kubelet-client', groups: ['system:authenticated'] };
    expect(rbac.authorize(asking(server, 'create', { resource: 'nodes', subresource: 'proxy' })).allowed).toBe(true);
    expect(rbac.authorize(asking(server, 'get', { resource: 'secrets' })).allowed).toBe(false);
  });

  it('lets authenticated users use discovery and ask who they are, and anonymous users only check health', () => {
    const rbac = rbacAuthorizer(objects);
    const stranger = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
    const member = { name: 'jane', groups: ['system:authenticated'] };
    expect(rbac.authorize(asking(stranger, 'get', { path: '/livez' })).allowed).toBe(true);
    expect(rbac.authorize(asking(stranger, 'get', { path: '/api' })).allowed).toBe(false);
    expect(rbac.authorize(asking(member, 'get', { path: '/apis/apps/v1' })).allowed).toBe(true);
    expect(rbac.authorize(asking(member, 'create', { group: 'authentication.k8s.io', resource: 'selfsubjectreviews' })).allowed).toBe(true);
  });

  it('grants every controller the rights of its role', () => {
    const rbac = rbacAuthorizer(objects);
    const controller = { name: 'system:serviceaccount:kube-system:namespace-controller', groups: [] };
    expect(
      rbac.authorize(asking(controller, 'deletecollection', { resource: 'widgets', group: 'example.org', namespace: 'shop' })).allowed,
    ).toBe(true);
  });
});

describe('the controller-manager', () => {
  const manager = { name: 'system:capstan-controller-manager', groups: ['system:authenticated'] };
  const account = (name: string) => ({
    name: `system:serviceaccount:kube-system:${name}`,
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
  });
  const may = (user: { name: string; groups: string[] }, verb: string, what: Parameters<typeof asking>[2]): boolean =>
    rbacAuthorizer(objects).authorize(asking(user, verb, what)).allowed;
  const rbac = 'rbac.authorization.k8s.io';
  const lease = { group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-system' };

  it('may hold its lease and impersonate the accounts of its controllers', () => {
    expect(may(manager, 'create', lease)).toBe(true);
    expect(may(manager, 'update', { ...lease, name: 'capstan-controller-manager' })).toBe(true);
    const as = { resource: 'serviceaccounts', namespace: 'kube-system' };
    for (const name of ['namespace-controller', 'generic-garbage-collector', 'namespace-defaults-controller', 'resourcequota-controller'])
      expect([name, may(manager, 'impersonate', { ...as, name })]).toEqual([name, true]);
  });

  it('may do nothing else under its own name', () => {
    for (const [verb, what] of [
      ['get', { resource: 'secrets', namespace: 'shop', name: 's' }],
      ['list', { resource: 'secrets' }],
      ['list', { resource: 'namespaces' }],
      ['create', { resource: 'pods', namespace: 'shop' }],
      ['create', { resource: 'serviceaccounts', subresource: 'token', namespace: 'kube-system', name: 'namespace-controller' }],
      ['create', { group: rbac, resource: 'clusterrolebindings' }],
      ['update', { group: rbac, resource: 'clusterroles', name: 'view' }],
      ['update', { ...lease, name: 'kube-controller-manager' }],
      ['update', { ...lease, namespace: 'shop', name: 'capstan-controller-manager' }],
      ['impersonate', { resource: 'users', name: 'kubernetes-admin' }],
      ['impersonate', { resource: 'groups', name: 'system:masters' }],
      ['impersonate', { resource: 'serviceaccounts', namespace: 'shop', name: 'namespace-controller' }],
      ['impersonate', { resource: 'serviceaccounts', namespace: 'kube-system', name: 'persistent-volume-binder' }],
    ] as const)
      expect([verb, what, may(manager, verb, what)]).toEqual([verb, what, false]);
  });

  it('has controllers that cannot do each other’s work', () => {
    for (const [name, verb, what] of [
      ['namespace-defaults-controller', 'get', { resource: 'secrets', namespace: 'shop', name: 's' }],
      ['namespace-defaults-controller', 'update', { resource: 'configmaps', namespace: 'shop', name: 'settings' }],
      ['certificate-controller', 'get', { resource: 'secrets', namespace: 'shop', name: 's' }],
      ['clusterrole-aggregation-controller', 'create', { group: rbac, resource: 'clusterrolebindings' }],
      ['clusterrole-aggregation-controller', 'get', { resource: 'secrets', namespace: 'shop', name: 's' }],
      ['namespace-controller', 'create', { group: rbac, resource: 'clusterrolebindings' }],
      ['namespace-controller', 'patch', { resource: 'secrets', namespace: 'shop', name: 's' }],
      ['generic-garbage-collector', 'create', { group: rbac, resource: 'clusterrolebindings' }],
      ['generic-garbage-collector', 'impersonate', { resource: 'users', name: 'kubernetes-admin' }],
    ] as const)
      expect([name, verb, what, may(account(name), verb, what)]).toEqual([name, verb, what, false]);
  });
});

describe('repairs', () => {
  it('do nothing the second time', () => {
    expect(settle()).toBe(0);
  });

  const clusterRoles = { group: 'rbac.authorization.k8s.io', resource: 'clusterroles' };
  const view = (): KubeObject =>
    structuredClone(objects.get({ ...clusterRoles, cluster: rootCluster, namespace: '', name: 'system:kube-dns' })!);

  it('restore removed rules and labels, and keep added ones', () => {
    const mine = parseRule('get nodes');
    objects.put(clusterRoles, {
      ...view(),
      metadata: { name: 'system:kube-dns', labels: { mine: 'yes' }, resourceVersion: '9' },
      rules: [mine],
    });
    expect(settle()).toBe(1);
    expect(view().metadata).toMatchObject({
      resourceVersion: '9',
      labels: { mine: 'yes', 'kubernetes.io/bootstrapping': 'rbac-defaults' },
    });
    expect(view()['rules']).toEqual([
      mine,
      ...['list endpoints', 'watch endpoints', 'list services', 'watch services'].sort(byResource).map(parseRule),
    ]);
    expect(settle()).toBe(0);
  });

  it('skip objects that opt out of updates', () => {
    const role = view();
    role.metadata.annotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'false' };
    objects.put(clusterRoles, { ...role, rules: [] });
    expect(settle()).toBe(0);
  });

  it('keep the gathered rules of aggregated roles', () => {
    const role = structuredClone(objects.get({ ...clusterRoles, cluster: rootCluster, namespace: '', name: 'view' })!);
    objects.put(clusterRoles, { ...role, rules: [] });
    expect(settle()).toBe(0);
  });

  it('recreate a binding to another role', () => {
    const bindings = { group: 'rbac.authorization.k8s.io', resource: 'clusterrolebindings' };
    const bad = {
      ...named('ClusterRoleBinding', 'system:basic-user'),
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    };
    objects.put(bindings, bad);
    expect(repairs(bootstrapObjects(now), objects, rootCluster)).toEqual([
      { action: 'recreate', resource: bindings, object: named('ClusterRoleBinding', 'system:basic-user'), old: bad },
    ]);
  });

  it('restore flow control objects that no user has taken over', () => {
    const schemas = { group: 'flowcontrol.apiserver.k8s.io', resource: 'flowschemas' };
    for (const [name, annotations, repaired] of [
      ['probes', { 'apf.kubernetes.io/autoupdate-spec': 'true' }, 1],
      ['probes', { 'apf.kubernetes.io/autoupdate-spec': 'false' }, 0],
      ['exempt', { 'apf.kubernetes.io/autoupdate-spec': 'false' }, 1],
    ] as const) {
      objects.put(schemas, { ...named('FlowSchema', name), metadata: { name, annotations }, spec: { matchingPrecedence: 77 } });
      expect([name, settle()]).toEqual([name, repaired]);
    }
  });
});

const byResource = (left: string, right: string): number =>
  left.split(' ')[1]! < right.split(' ')[1]! ? -1 : left.split(' ')[1]! > right.split(' ')[1]! ? 1 : 0;

it.each([
  ['read pods', { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] }],
  ['get a,b @,x.io #n', { verbs: ['get'], apiGroups: ['', 'x.io'], resources: ['a', 'b'], resourceNames: ['n'] }],
  ['* url:*', { verbs: ['*'], nonResourceURLs: ['*'] }],
])('reads the rule %s', (text, rule) => {
  expect(parseRule(text)).toEqual(rule);
});

it('publishes the address of the server for clients in the cluster', () => {
  const at = (address: string, port = 6443) => ({ address, port });
  const [service, endpoints, slice] = serverObjects({
    endpoints: [at('192.0.2.8'), at('192.0.2.7'), at('2001:db8::1')],
    clientAuthority: 'PEM',
  });
  expect(service).toMatchObject({ kind: 'Service', spec: { clusterIP: '10.96.0.1', ports: [{ port: 443, targetPort: 6443 }] } });
  expect(endpoints).toMatchObject({ subsets: [{ addresses: [{ ip: '192.0.2.7' }, { ip: '192.0.2.8' }] }] });
  expect(slice).toMatchObject({ endpoints: [{ addresses: ['192.0.2.7'] }, { addresses: ['192.0.2.8'] }] });
  expect(serverObjects({ endpoints: [], clientAuthority: 'PEM' }).map(({ kind }) => kind)).toEqual(['ConfigMap']);
  expect(objectsOfNamespace('shop', 'PEM').map(({ kind, metadata }) => [kind, metadata.namespace, metadata.name])).toEqual([
    ['ServiceAccount', 'shop', 'default'],
    ['ConfigMap', 'shop', 'kube-root-ca.crt'],
  ]);
});
