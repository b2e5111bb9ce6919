import { randomUUID } from 'node:crypto';
import { firstNamespaces, ownerAnnotation, ownerName, pathAnnotation, platformWorkspace } from '@capstan/api';
import { formatTime, type KubeObject } from '@capstan/machinery';
import { rbacGroup } from '../../authz/resolver.ts';
import { objectsOfNamespace } from '../../bootstrap/core.ts';
import { platformRights } from '../root/platform-rights.ts';

/** The objects that every workspace has from the beginning, as the store keeps them. `authority` is the PEM with which clients verify the server. */
export function firstObjects(logicalCluster: KubeObject, { authority, now }: { authority: string; now: Date }): KubeObject[] {
  const owner = ownerName(logicalCluster.metadata.annotations?.[ownerAnnotation]);
  const objects = firstNamespaces.flatMap((name) => [namespace(name), ...objectsOfNamespace(name, authority)]);
  if (owner !== undefined) objects.push(administration(owner));
  if (logicalCluster.metadata.annotations?.[pathAnnotation] === platformWorkspace) objects.push(platformRights());
  return objects.map((object) => born(object, now));
}

/** The object with what the server gives every new one. */
export function born<T extends KubeObject>(object: T, now: Date): T {
  return { ...object, metadata: { ...object.metadata, uid: randomUUID(), creationTimestamp: formatTime(now) } };
}

function namespace(name: string): KubeObject {
  return {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  };
}

/** Who made the workspace may do everything in it. */
function administration(user: string): KubeObject {
  return {
    kind: 'ClusterRoleBinding',
    apiVersion: `${rbacGroup}/v1`,
    metadata: { name: 'workspace-admin' },
    subjects: [{ kind: 'User', apiGroup: rbacGroup, name: user }],
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'cluster-admin' },
  };
}
