import { type ClusterId, platformControllersUser, platformWorkspace } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { rbacGroup } from '../../authz/resolver.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import { Tree } from '../tree.ts';

/** Lets `platform-controllers` work in the platform's workspace. Its role is part of the policy of every workspace. */
export function platformRights(): KubeObject {
  return {
    kind: 'ClusterRoleBinding',
    apiVersion: `${rbacGroup}/v1`,
    metadata: { name: platformControllersUser },
    subjects: [{ kind: 'User', apiGroup: rbacGroup, name: platformControllersUser }],
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: platformControllersUser },
  };
}

/** The id of the platform's workspace; undefined until it exists. */
export function platformCluster(cache: WatchCache): ClusterId | undefined {
  return new Tree(cache).resolve(platformWorkspace);
}
