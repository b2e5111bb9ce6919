import { asClusterId, type ClusterId, rootCluster, type User } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { beforeEach, describe, expect, it } from 'vitest';
import { rbacAuthorizer } from './authorizer.ts';
import { grantsIn } from './grants.ts';
import { rbacResources, type Subject } from './resolver.ts';
import type { PolicyRule } from './rule.ts';
import { asking, MemoryObjects } from './testing.ts';
import { forbidden } from './wording.ts';

const apiVersion = 'rbac.authorization.k8s.io/v1';
const jane: User = { name: 'jane', groups: ['devs', 'system:authenticated'] };

let objects: MemoryObjects;
let rbac: ReturnType<typeof rbacAuthorizer>;
beforeEach(() => {
  objects = new MemoryObjects();
  rbac = rbacAuthorizer(objects);
});

function role(name: string, rules: PolicyRule[], namespace?: string, cluster?: ClusterId): void {
  const object: KubeObject = {
    apiVersion,
    kind: namespace ? 'Role' : 'ClusterRole',
    metadata: { name, ...(namespace && { namespace }) },
    rules,
  };
  objects.put(namespace ? rbacResources.roles : rbacResources.clusterRoles, object, cluster);
}

interface Binding {
  readonly role: `${'Role' | 'ClusterRole'}/${string}`;
  readonly to: Subject[];
  readonly in?: string;
  readonly cluster?: ClusterId;
}

function bind(name: string, { role: roleText, to, in: namespace, cluster }: Binding): void {
  const [kind, roleName] = roleText.split('/');
  const metadata = { name, ...(namespace && { namespace }) };
  const object = { apiVersion, kind: '', metadata, subjects: to, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: roleName } };
  objects.put(namespace ? rbacResources.roleBindings : rbacResources.clusterRoleBindings, object, cluster);
}

const readConfigMaps: PolicyRule[] = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }];
const configMaps = { resource: 'configmaps', namespace: 'shop' };

describe('RBAC', () => {
  it('denies without bindings, and gives no reason', () => {
    expect(rbac.authorize(asking(jane, 'list', configMaps))).toEqual({ allowed: false, reason: '' });
  });

  it('allows system:masters everything', () => {
    const admin = { name: 'root', groups: ['system:masters'] };
    expect(rbac.authorize(asking(admin, 'delete', { resource: 'nodes' }))).toEqual({ allowed: true, reason: '' });
  });

  it.each<[string, Binding, string]>([
    [
      'a user',
      { role: 'Role/reader', to: [{ kind: 'User', name: 'jane' }], in: 'shop' },
      'RoleBinding "b/shop" of Role "reader" to User "jane"',
    ],
    [
      'a group',
      { role: 'ClusterRole/reader', to: [{ kind: 'Group', name: 'devs' }], in: 'shop' },
      'RoleBinding "b/shop" of ClusterRole "reader" to Group "devs"',
    ],
    [
      'everybody',
      {
        role: 'ClusterRole/reader',
        to: [
          { kind: 'User', name: 'joe' },
          { kind: 'Group', name: 'devs' },
        ],
      },
      'ClusterRoleBinding "b" of ClusterRole "reader" to Group "devs"',
    ],
  ])('allows %s that is bound, and names the binding', (_, binding, source) => {
    role('reader', readConfigMaps);
    role('reader', readConfigMaps, 'shop');
    bind('b', binding);
    expect(rbac.authorize(asking(jane, 'list', configMaps))).toEqual({ allowed: true, reason: `RBAC: allowed by ${source}` });
    expect(rbac.authorize(asking(jane, 'create', configMaps)).allowed).toBe(false);
  });

  it('matches service accounts, also by the namespace of the binding', () => {
    const bot: User = { name: 'system:serviceaccount:shop:bot', groups: [] };
    role('reader', readConfigMaps);
    bind('b', { role: 'ClusterRole/reader', to: [{ kind: 'ServiceAccount', name: 'bot' }], in: 'shop' });
    expect(rbac.authorize(asking(bot, 'get', configMaps)).reason).toBe(
      'RBAC: allowed by RoleBinding "b/shop" of ClusterRole "reader" to ServiceAccount "bot/shop"',
    );
    bind('everywhere', { role: 'ClusterRole/reader', to: [{ kind: 'ServiceAccount', name: 'bot' }] });
    expect(rbac.authorize(asking(bot, 'get', { ...configMaps, namespace: 'other' })).allowed).toBe(false);
  });

  it('does not apply bindings to other namespaces or workspaces', () => {
    role('reader', readConfigMaps);
    bind('b', { role: 'ClusterRole/reader', to: [{ kind: 'User', name: 'jane' }], in: 'shop' });
    expect(rbac.authorize(asking(jane, 'get', { ...configMaps, namespace: 'other' })).allowed).toBe(false);
    expect(rbac.authorize(asking(jane, 'get', { ...configMaps, namespace: '' })).allowed).toBe(false);
    expect(rbac.authorize(asking(jane, 'get', { ...configMaps, cluster: asClusterId('tenant') })).allowed).toBe(false);
  });

  it('names the missing roles of bindings', () => {
    bind('a', { role: 'Role/gone', to: [{ kind: 'User', name: 'jane' }], in: 'shop' });
    bind('b', { role: 'ClusterRole/lost', to: [{ kind: 'User', name: 'jane' }], in: 'shop' });
    expect(rbac.authorize(asking(jane, 'list', configMaps)).reason).toBe(
      'RBAC: [role.rbac.authorization.k8s.io "gone" not found, clusterrole.rbac.authorization.k8s.io "lost" not found]',
    );
  });
});

describe('the cache of grants', () => {
  const binding: Binding = { role: 'ClusterRole/reader', to: [{ kind: 'User', name: 'jane' }] };

  it('saves lookups for the same user or an equal one', () => {
    role('reader', readConfigMaps);
    bind('b', binding);
    for (const user of [jane, jane, { ...jane }]) expect(rbac.authorize(asking(user, 'get', configMaps)).allowed).toBe(true);
    expect(objects.lists).toBe(1);
  });

  it('is invalidated by every change of a role or binding', () => {
    const may = (): boolean => rbac.authorize(asking(jane, 'get', configMaps)).allowed;
    expect(may()).toBe(false);
    bind('b', binding);
    expect(may()).toBe(false);
    role('reader', readConfigMaps);
    expect(may()).toBe(true);
    role('reader', []);
    expect(may()).toBe(false);
    role('reader', readConfigMaps);
    objects.remove({ ...rbacResources.clusterRoleBindings, name: 'b' });
    expect(may()).toBe(false);
  });

  it('is kept when a change concerns another workspace', () => {
    const changed = new Map<string, number>();
    const precise = rbacAuthorizer(objects, { changedIn: (cluster) => changed.get(cluster) ?? 0 });
    const may = (cluster: ClusterId): boolean => precise.authorize(asking(jane, 'get', { ...configMaps, cluster })).allowed;
    role('reader', readConfigMaps);
    bind('b', binding);
    expect([may(rootCluster), may(asClusterId('other'))]).toEqual([true, false]);
    const { lists } = objects;
    changed.set('other', 1);
    expect(may(rootCluster)).toBe(true);
    expect(objects.lists).toBe(lists);
    objects.remove({ ...rbacResources.clusterRoleBindings, name: 'b' });
    changed.set('root', 1);
    expect(may(rootCluster)).toBe(false);
  });

  it('does not confuse users whose names and groups concatenate to the same text', () => {
    role('reader', readConfigMaps);
    bind('b', { role: 'ClusterRole/reader', to: [{ kind: 'Group', name: 'b' }] });
    expect(rbac.authorize(asking({ name: 'a', groups: ['b'] }, 'get', configMaps)).allowed).toBe(true);
    expect(rbac.authorize(asking({ name: 'a","b', groups: [] }, 'get', configMaps)).allowed).toBe(false);
    expect(rbac.authorize(asking({ name: 'a', groups: ['b","c'] }, 'get', configMaps)).allowed).toBe(false);
  });

  it('is bounded', () => {
    const small = rbacAuthorizer(objects, { capacity: 10 });
    role('reader', readConfigMaps);
    bind('b', binding);
    for (let index = 0; index < 100; index++) small.authorize(asking({ name: `user-${index}`, groups: [] }, 'get', configMaps));
    expect(small.authorize(asking(jane, 'get', configMaps)).allowed).toBe(true);
  });

  const [greedy, calm] = [asClusterId('greedy'), asClusterId('calm')];
  it.each<[string, (one: ReturnType<typeof rbacAuthorizer>, index: number) => void]>([
    ['many users', (one, index) => one.authorize(asking({ name: `user-${index}`, groups: [] }, 'get', { ...configMaps, cluster: greedy }))],
    ['many namespaces', (one, index) => one.authorize(asking(jane, 'get', { ...configMaps, cluster: greedy, namespace: `n${index}` }))],
    [
      'many workspaces',
      (one, index) => one.authorize(asking({ name: 'eve', groups: [] }, 'get', { ...configMaps, cluster: asClusterId(`greedy-${index}`) })),
    ],
    [
      'many namespaces of others',
      (one, index) => one.authorize(asking({ name: 'eve', groups: [] }, 'get', { ...configMaps, cluster: calm, namespace: `n${index}` })),
    ],
  ])('keeps those of others when a tenant fills it with %s', (_, fill) => {
    const small = rbacAuthorizer(objects, { capacity: 40, organizationOf: (cluster) => cluster.split('-')[0]! });
    const ask = (): boolean => small.authorize(asking(jane, 'get', { ...configMaps, cluster: calm })).allowed;
    role('reader', readConfigMaps, undefined, calm);
    bind('b', { ...binding, cluster: calm });
    expect(ask()).toBe(true);
    for (let index = 0; index < 500; index++) {
      fill(small, index);
      const { lists } = objects;
      expect(ask()).toBe(true);
      expect(objects.lists).toBe(lists);
    }
  });

  it('compiles nothing again when there is room for all', () => {
    const small = rbacAuthorizer(objects, { capacity: 40 });
    for (let round = 0; round < 3; round++)
      for (let index = 0; index < 10; index++) small.authorize(asking({ name: `user-${index}`, groups: [] }, 'get', configMaps));
    expect(objects.lists).toBe(10 * 2);
  });
});

it('lists the rules of a user for SelfSubjectRulesReview, with missing roles', () => {
  role('reader', readConfigMaps);
  bind('everywhere', { role: 'ClusterRole/reader', to: [{ kind: 'User', name: 'jane' }] });
  bind('local', { role: 'Role/gone', to: [{ kind: 'User', name: 'jane' }], in: 'shop' });
  expect(rbac.rulesFor(jane, { cluster: rootCluster, namespace: 'shop' })).toEqual({
    rules: readConfigMaps,
    missing: [expect.objectContaining({ kind: 'Role', name: 'gone' })],
  });
});

describe('roles and bindings of a hostile workspace', () => {
  const onlyJane = [{ kind: 'User', name: 'jane' }];
  /** Rules that allow nothing that is asked for, which weigh four each. */
  const useless = (count: number, mark = ''): PolicyRule[] =>
    Array.from({ length: count }, (_, index) => ({ apiGroups: [`g${mark}`], resources: [`r${index}`], verbs: ['get'] }));
  const weight = (rules: readonly PolicyRule[]): number =>
    rules.reduce((sum, rule) => sum + 1 + Object.values(rule).reduce((entries, list: readonly string[]) => entries + list.length, 0), 0);

  it('a role counts once, however many bindings grant it', () => {
    role('wide', useless(1_000));
    for (let index = 0; index < 500; index++) bind(`b${index}`, { role: 'ClusterRole/wide', to: onlyJane });
    expect(rbac.rulesFor(jane, { cluster: rootCluster, namespace: '' }).rules).toHaveLength(1_000);
  });

  it('only the first rules count beyond the limit, and a denial says so', () => {
    for (let index = 0; index < 30; index++) {
      role(`wide-${index}`, useless(5_000, String(index)));
      bind(`b${String(index).padStart(2, '0')}`, { role: `ClusterRole/wide-${index}`, to: onlyJane });
    }
    role('reader', readConfigMaps);
    bind('a', { role: 'ClusterRole/reader', to: [{ kind: 'User', name: 'joe' }] });
    bind('z', { role: 'ClusterRole/reader', to: onlyJane });
    const { rules, cut } = rbac.rulesFor(jane, { cluster: rootCluster, namespace: '' });
    expect(weight(rules)).toBeLessThanOrEqual(200_000);
    expect(cut).toMatch('bind fewer or smaller roles');
    const decision = rbac.authorize(asking(jane, 'list', configMaps));
    expect(decision).toEqual({ allowed: false, reason: `RBAC: ${cut}`, error: `RBAC: ${cut}` });
    expect(rbac.authorize(asking({ name: 'joe', groups: [] }, 'list', configMaps)).allowed).toBe(true);
    bind('0', { role: 'ClusterRole/reader', to: onlyJane });
    expect(rbac.authorize(asking(jane, 'list', configMaps)).allowed).toBe(true);
  });

  it('long entries of rules weigh more', () => {
    role('long', [{ apiGroups: [''], resources: ['x'.repeat(64_000)], verbs: ['get'] }]);
    bind('b', { role: 'ClusterRole/long', to: onlyJane });
    expect(grantsIn(objects, { cluster: rootCluster, namespace: '' }, [jane]).weight).toBe(1_004);
  });

  it('subjects are read up to a limit, whoever asks', () => {
    const to = Array.from({ length: 5_000 }, (_, index) => ({ kind: 'User', name: `somebody-with-a-long-name-${index}` }));
    role('reader', readConfigMaps);
    for (let index = 0; index < 100; index++) bind(`b${String(index).padStart(3, '0')}`, { role: 'ClusterRole/reader', to });
    bind('z', { role: 'ClusterRole/reader', to: onlyJane });
    const { read } = objects;
    const decision = rbac.authorize(asking(jane, 'list', configMaps));
    expect(objects.read - read).toBeLessThanOrEqual(8 << 20);
    expect(decision).toMatchObject({ allowed: false, reason: expect.stringMatching('name fewer subjects') as string });
    expect(rbac.authorize(asking({ name: to[7]!.name, groups: [] }, 'list', configMaps)).allowed).toBe(true);
  });

  it('hundreds of missing roles make no long message', () => {
    for (let index = 0; index < 1_000; index++) bind(`b${index}`, { role: `ClusterRole/gone-${index}`, to: onlyJane });
    expect(rbac.rulesFor(jane, { cluster: rootCluster, namespace: '' }).missing).toHaveLength(100);
  });

  it('users with a long identity are told apart', () => {
    role('reader', readConfigMaps);
    bind('b', { role: 'ClusterRole/reader', to: [{ kind: 'Group', name: 'last' }] });
    const groups = Array.from({ length: 1_000 }, (_, index) => `group-${index}`);
    const may = (more: string): boolean => rbac.authorize(asking({ name: 'a', groups: [...groups, more] }, 'get', configMaps)).allowed;
    expect([may('last'), may('none'), may('last')]).toEqual([true, false, true]);
  });
});

describe('the message of a denial', () => {
  it.each([
    [
      asking(jane, 'list', configMaps),
      '',
      'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "shop"',
    ],
    [
      asking(jane, 'list', { resource: 'nodes' }),
      '',
      'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope',
    ],
    [
      asking(jane, 'get', { group: 'apps', resource: 'deployments', subresource: 'scale', namespace: 'shop', name: 'web' }),
      'RBAC: because',
      'deployments.apps "web" is forbidden: User "jane" cannot get resource "deployments/scale" in API group "apps" in the namespace "shop": RBAC: because',
    ],
    [asking(jane, 'get', { path: '/x<b>' }), '', 'forbidden: User "jane" cannot get path "/x&lt;b&gt;"'],
  ])('%#', (attributes, reason, message) => {
    expect(forbidden(attributes, reason).status).toMatchObject({ code: 403, reason: 'Forbidden', message });
  });
});
