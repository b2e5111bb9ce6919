import { workspaceKind } from '@capstan/api';
import { type Client, isForbidden, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { currentPath } from '../fleet/state.ts';
import { workspaceIn } from './connection.ts';

const reviews = { group: 'authorization.k8s.io', version: 'v1', resource: 'selfsubjectaccessreviews', namespaced: false };

/** The path of the caller's own workspace, which is made when it is first asked for; undefined for those who have none, such as service accounts. */
export async function homePath(client: Client): Promise<string | undefined> {
  const root = client.cluster('root');
  const home = await ignoring(root.resource(workspaceKind).get('~'), isNotFound, isForbidden);
  const address = home === undefined ? undefined : workspaceIn(String((home.spec as { URL?: string }).URL));
  return address === undefined ? undefined : await currentPath(client.cluster(address));
}

/** Whether the caller may work in the root workspace, as owners of the platform do. Everybody may look into it. */
export async function worksInRoot(client: Client): Promise<boolean> {
  const attributes = { verb: 'create', group: '', resource: 'configmaps', namespace: 'default' };
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    metadata: {},
    spec: { resourceAttributes: attributes },
  };
  const answer = await client.cluster('root').resource<KubeObject>(reviews).create(review);
  return (answer['status'] as { allowed?: boolean } | undefined)?.allowed === true;
}
