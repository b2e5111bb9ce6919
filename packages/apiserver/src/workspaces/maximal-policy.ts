import { rootCluster, type User } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import type { Attributes, Authorizer } from '../authz/attributes.ts';
import type { Bindings } from '../bindings/bindings.ts';
import { apiExports } from '../bindings/names.ts';
import { maximalPermissionPrefix } from './policy.ts';

/** The maximum that consumers of an API may do, by the rules of the provider's workspace. */
export interface MaximalPolicy {
  allows(attributes: Attributes): boolean;
  /** Whether the kind came into the workspace through a binding to another workspace's export. */
  isBound(attributes: Attributes): boolean;
}

export function maximalPolicy(options: {
  readonly objects: ObjectReader;
  readonly bindings: Bindings;
  readonly rbac: Authorizer;
  /** True for kinds that every workspace has. */
  readonly isNeverBound: (kind: Pick<Attributes, 'cluster' | 'group' | 'resource'>) => boolean;
}): MaximalPolicy {
  const { objects, bindings, rbac, isNeverBound } = options;
  return {
    isBound(attributes) {
      const { cluster, isResource, group, resource } = attributes;
      if (!isResource || isNeverBound(attributes)) return false;
      const provider = bindings.bringing(cluster, { group, resource })?.provider ?? '';
      return provider !== '' && provider !== rootCluster;
    },
    allows(attributes) {
      const { cluster, user, isResource, group, resource } = attributes;
      if (!isResource || isNeverBound(attributes)) return true;
      const binding = bindings.bringing(cluster, { group, resource });
      if (binding === undefined) return true;
      const { provider, exportName } = binding;
      const source = objects.get({ ...apiExports, cluster: provider, namespace: '', name: exportName });
      if (source?.spec?.maximalPermissionPolicy?.local === undefined) return true;
      return rbac.authorize({ ...attributes, cluster: provider, user: prefixed(user) }).allowed;
    },
  };
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
