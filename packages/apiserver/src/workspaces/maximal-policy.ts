import type { KubeObject } from '@capstan/machinery';
import type { User } from '../authn/user.ts';
import type { Attributes, Authorizer } from '../authz/attributes.ts';
import type { ObjectReader } from '../cache/reader.ts';
import { fieldsOf, maybeFields, textOf } from '../kinds/workloads/reading.ts';
import { apiBindings, boundResources } from './kinds/bound-kinds.ts';
import { maximalPermissionPrefix } from './policy.ts';

const apiExports = { group: 'apis.kcp.io', resource: 'apiexports' } as const;

/** What consumers of an API may do at most, by the rules of the workspace that it comes from. */
export interface MaximalPolicy {
  allows(attributes: Attributes): boolean;
}

/** Of bindings that say the same for as long as they are not written again. */
const resourcesOf = new WeakMap<KubeObject, ReadonlySet<string>>();

export function maximalPolicy(options: {
  readonly objects: ObjectReader;
  readonly rbac: Authorizer;
  /** Groups that are never bound. */
  readonly isBuiltin: (group: string) => boolean;
}): MaximalPolicy {
  const { objects, rbac, isBuiltin } = options;
  return {
    allows(attributes) {
      const { cluster, user, isResource, group, resource } = attributes;
      if (!isResource || isBuiltin(group)) return true;
      const binding = objects.list(apiBindings, cluster).find((candidate) => bindsResource(candidate, `${group}/${resource}`));
      if (binding === undefined) return true;
      const source = exportOf(objects, binding);
      if (source === undefined || maybeFields(fieldsOf(fieldsOf(source.object['spec'])['maximalPermissionPolicy'])['local']) === undefined)
        return true;
      return rbac.authorize({ ...attributes, cluster: source.cluster, user: prefixed(user) }).allowed;
    },
  };
}

function bindsResource(binding: KubeObject, resource: string): boolean {
  let bound = resourcesOf.get(binding);
  if (bound === undefined) {
    bound = new Set(boundResources(binding['status']).map((one) => `${one.group}/${one.resource}`));
    resourcesOf.set(binding, bound);
  }
  return bound.has(resource);
}

/** The export that a binding is bound to; undefined when it is gone. */
function exportOf(objects: ObjectReader, binding: KubeObject): { cluster: string; object: KubeObject } | undefined {
  const cluster = textOf(fieldsOf(binding['status'])['apiExportClusterName']);
  const name = textOf(fieldsOf(fieldsOf(fieldsOf(binding['spec'])['reference'])['export'])['name']);
  const object = objects.get({ ...apiExports, cluster, namespace: '', name });
  return object && { cluster, object };
}

const known = new WeakMap<User, User>();

export function prefixed(user: User): User {
  let other = known.get(user);
  if (other === undefined) {
    const groups = user.groups.map((group) => `${maximalPermissionPrefix}${group}`);
    known.set(user, (other = { name: `${maximalPermissionPrefix}${user.name}`, groups, ...(user.extra && { extra: user.extra }) }));
  }
  return other;
}
