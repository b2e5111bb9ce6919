import { rootCluster, type User } from '@capstan/api';
import type { KubeObject, StatusError } from '@capstan/machinery';
import { beforeEach, describe, expect, it } from 'vitest';
import { rbacAuthorizer } from './authorizer.ts';
import { checkNoEscalation, type RoleWrite } from './escalation.ts';
import { rbacResources } from './resolver.ts';
import type { PolicyRule } from './rule.ts';
import { MemoryObjects } from './testing.ts';

const apiVersion = 'rbac.authorization.k8s.io/v1';
const joe: User = { name: 'joe', groups: ['system:authenticated'] };
const secrets: PolicyRule = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] };

let objects: MemoryObjects;
beforeEach(() => {
  objects = new MemoryObjects();
  objects.put(
    rbacResources.clusterRoles,
    clusterRole('cluster-admin', [
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      { nonResourceURLs: ['*'], verbs: ['*'] },
    ]),
  );
});

const clusterRole = (name: string, rules: PolicyRule[], more: object = {}): KubeObject => ({
  apiVersion,
  kind: 'ClusterRole',
  metadata: { name },
  rules,
  ...more,
});
const role = (rules: PolicyRule[], metadata: object = {}): KubeObject => ({
  apiVersion,
  kind: 'Role',
  metadata: { name: 'evil', ...metadata },
  rules,
});
const binding = (kind: string, name: string): KubeObject => ({
  apiVersion,
  kind: 'RoleBinding',
  metadata: { name: 'evil' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
  subjects: [{ kind: 'User', name: 'joe' }],
});

/** Grants joe these rules in the namespace shop. */
function grant(...rules: PolicyRule[]): void {
  objects.put(rbacResources.clusterRoles, clusterRole('of-joe', rules));
  objects.put(rbacResources.roleBindings, { ...binding('ClusterRole', 'of-joe'), metadata: { name: 'b', namespace: 'shop' } });
}

function write(object: KubeObject, more: Partial<RoleWrite> = {}): string {
  const resource = object.kind === 'Role' ? 'roles' : object.kind === 'RoleBinding' ? 'rolebindings' : 'clusterroles';
  const namespace = object.kind === 'ClusterRole' ? '' : 'shop';
  const request: RoleWrite = { cluster: rootCluster, user: joe, resource, namespace, requestName: '', object, old: undefined, ...more };
  try {
    checkNoEscalation(request, { objects, rbac: rbacAuthorizer(objects) });
    return 'allowed';
  } catch (error) {
    return (error as StatusError).message;
  }
}

const refusal = (what: string, rules: string): string =>
  `${what}.rbac.authorization.k8s.io "evil" is forbidden: user "joe" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n${rules}`;

describe('a role', () => {
  it('may contain only rules that its writer holds', () => {
    expect(write(role([secrets]))).toBe(refusal('roles', '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'));
    grant(secrets);
    expect(write(role([secrets]))).toBe('allowed');
    expect(write(role([{ ...secrets, verbs: ['get', 'list'] }]))).toBe(
      refusal('roles', '{APIGroups:[""], Resources:["secrets"], Verbs:["list"]}'),
    );
  });

  it('without rules grants nothing', () => {
    expect(write(role([{}, { apiGroups: [''], resources: ['pods'] }]))).toBe('allowed');
    expect(write({ ...role([]), rules: null })).toBe('allowed');
  });

  it('may contain any rule if its writer may escalate it', () => {
    grant({ apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: ['escalate'] });
    expect(write(role([secrets]))).toBe('allowed');
  });

  it('may contain any rule if system:masters writes it', () => {
    expect(write(role([secrets]), { user: { name: 'root', groups: ['system:masters'] } })).toBe('allowed');
  });

  it('may lose finalizers and owners in a write by a user without its rules', () => {
    const old = role([secrets], { finalizers: ['example.org/x'], resourceVersion: '7' });
    expect(write(role([secrets], { resourceVersion: '7' }), { old })).toBe('allowed');
    expect(write(role([secrets], { resourceVersion: '7', labels: { a: 'b' } }), { old })).toContain('not currently held');
  });

  it('may aggregate other roles only if its writer may do everything', () => {
    const gathering = clusterRole('evil', [], { aggregationRule: { clusterRoleSelectors: [{}] } });
    expect(write(gathering)).toBe(
      'clusterroles.rbac.authorization.k8s.io "evil" is forbidden: must have cluster-admin privileges to use the aggregationRule',
    );
    objects.put(rbacResources.clusterRoleBindings, { ...binding('ClusterRole', 'cluster-admin'), metadata: { name: 'b' } });
    expect(write(gathering)).toBe('allowed');
  });
});

describe('a binding', () => {
  it('may not grant rules that its writer does not hold', () => {
    expect(write(binding('ClusterRole', 'cluster-admin'))).toBe(
      refusal('rolebindings', '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}'),
    );
  });

  it('may grant any rule if its writer may bind the role', () => {
    grant({ apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['bind'], resourceNames: ['cluster-admin'] });
    expect(write(binding('ClusterRole', 'cluster-admin'))).toBe('allowed');
  });

  it('to a missing role is rejected with the name of the role', () => {
    expect(write(binding('Role', 'gone'))).toBe('rolebindings.rbac.authorization.k8s.io "gone" not found');
  });

  it('without a role is rejected, and does not crash', () => {
    const { roleRef: _roleRef, ...without } = binding('Role', 'x');
    expect(write(without as KubeObject)).toBe('unsupported role reference kind: ""');
  });

  it('names the roles that could not be resolved', () => {
    objects.put(rbacResources.roleBindings, { ...binding('Role', 'lost'), metadata: { name: 'b', namespace: 'shop' } });
    expect(write(role([secrets]))).toMatch(/; resolution errors: \[roles\.rbac\.authorization\.k8s\.io "lost" not found\]$/);
  });
});

describe('a role that grants many permissions', () => {
  const many = (count: number, word: string): string[] => Array.from({ length: count }, (_, index) => `${word}${index}`);
  const wide = (count: number): PolicyRule => ({ apiGroups: many(count, 'g'), resources: many(count, 'r'), verbs: many(count, 'v') });

  it('is compared without writing out every combination, and the message stays short', () => {
    const message = write(role([wide(400)]));
    expect(message).toContain(`and ${400 ** 3 - 500} more`);
    expect(message.length).toBeLessThan(100_000);
    grant(wide(400));
    expect(write(role([wide(400)]))).toBe('allowed');
    expect(write(role([{ ...wide(400), verbs: [...many(400, 'v'), 'w'] }]))).toContain('Verbs:["w"]');
  });

  it('is refused if its rules are too intricate to compare', () => {
    const some = (word: string, at: number): string[] =>
      many(200, word).filter((_, index) => (Math.imul(index + 7, 0x9e3779b1 * (at + 3)) >>> 20) % 10 < 4);
    grant(
      ...many(200, '').map((_, at) => ({
        apiGroups: some('g', at),
        resources: some('r', at + 1),
        verbs: some('v', at + 2),
        resourceNames: some('n', at + 5),
      })),
    );
    expect(write(role([{ ...wide(200), resourceNames: many(200, 'n') }]))).toContain('too intricate');
  });
});
