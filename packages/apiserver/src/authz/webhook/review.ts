import type { User } from '@capstan/api';
import type { Json, JsonObject } from '@capstan/machinery';
import type { Attributes } from '../attributes.ts';
import { selectorAttributes } from './selectors.ts';

/** The workspace, under kcp's two names for it. Values that users already have under these names are not sent. */
const clusterExtras = ['authorization.kubernetes.io/cluster-name', 'authorization.kcp.io/cluster-name'] as const;

export type ReviewVersion = 'v1' | 'v1beta1';

/** The spec of a v1 SubjectAccessReview: the input of conditions, and the key of cached answers. */
export function reviewSpec(attributes: Attributes, user: User): JsonObject {
  const { cluster, verb, isResource, namespace, group, version, resource, subresource, name, path } = attributes;
  const wanted: JsonObject = isResource
    ? {
        resourceAttributes: {
          ...present({ namespace, verb, group, version, resource, subresource, name }),
          ...selectorAttributes(attributes.selectors),
        },
      }
    : { nonResourceAttributes: present({ path, verb }) };
  const extra: Record<string, Json> = {};
  for (const [key, values] of Object.entries(user.extra ?? {})) {
    Object.defineProperty(extra, key, { value: [...values], enumerable: true, configurable: true, writable: true });
  }
  for (const key of clusterExtras) extra[key] = [cluster];
  return {
    ...wanted,
    ...present({ user: user.name }),
    ...(user.groups.length > 0 && { groups: [...user.groups] }),
    extra,
    ...present({ uid: user.uid ?? '' }),
  };
}

/** The request body. The older version calls the groups `group`. */
export function reviewText(version: ReviewVersion, spec: JsonObject): string {
  const { groups, ...rest } = spec;
  const sent = version === 'v1' || groups === undefined ? spec : { ...rest, group: groups };
  return JSON.stringify({
    kind: 'SubjectAccessReview',
    apiVersion: `authorization.k8s.io/${version}`,
    metadata: { creationTimestamp: null },
    spec: sent,
    status: { allowed: false },
  });
}

function present(fields: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}
