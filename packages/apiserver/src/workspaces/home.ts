import {
  bootstrappersGroup,
  type ClusterId,
  isPath,
  type LogicalCluster,
  logicalClusterName,
  nodeAgentGroup,
  nodeGroup,
  ownerAnnotation,
  pathAnnotation,
  rootCluster,
  superuserGroup,
  typeAnnotation,
  type User,
} from '@capstan/api';
import { homeClusterId } from '@capstan/api/hashes';
import { type KubeObject, StatusError, status } from '@capstan/machinery';
import { isServiceAccount } from '../authn/service-account.ts';
import type { Gate } from '../authz/attributes.ts';
import { forbidden } from '../authz/wording.ts';
import type { VirtualObject } from '../handlers/virtual.ts';
import { attributesOf } from '../registry/attributes.ts';
import type { Catalogs } from '../registry/catalogs.ts';
import { RequestContext } from '../registry/context.ts';
import { create } from '../registry/create.ts';
import type { Backend } from '../registry/objects.ts';
import { serverUser } from '../upkeep/context.ts';
import { ownerText } from './admission/owner.ts';
import { logicalClusterOf, logicalClusters } from './tree.ts';

/** The workspace `~` in root: the user's home workspace, created on first use. */
export function homeWorkspace(options: {
  readonly catalogs: Catalogs;
  readonly authorizer: Gate;
  /** Groups whose members may create one; if undefined, the rules of root decide. */
  readonly creators: readonly string[] | undefined;
}): VirtualObject {
  return async (context, backend) => {
    // Many workspaces have accounts of the same name; an account already belongs to one workspace.
    if (isAgent(context.user)) throw forbidden(attributesOf(context.info, context.user), 'nodes have no home workspace');
    if (isServiceAccount(context.user.name))
      throw forbidden(attributesOf(context.info, context.user), 'service accounts have no home workspace');
    const cluster = homeClusterId(context.user.name);
    const found = logicalClusterOf(context.objects, cluster) ?? (await makeHome(cluster, context, { ...options, backend }));
    const { phase, URL: url, conditions, initializers } = found.status ?? {};
    if (phase !== 'Ready') throw status.tooManyRequests('Creating the home workspace', 1);
    return {
      kind: 'Workspace',
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      metadata: { name: logicalClusterName, creationTimestamp: found.metadata.creationTimestamp! },
      spec: { cluster, URL: url },
      status: { phase, ...(conditions !== undefined && { conditions }), ...(initializers !== undefined && { initializers }) },
    } as KubeObject;
  };
}

/** Machines need no workspace, and one that is taken over must not get one. */
function isAgent({ groups }: User): boolean {
  return [nodeGroup, nodeAgentGroup, bootstrappersGroup].some((group) => groups.includes(group));
}

/** A name with colons would be the path of a workspace in somebody else's home. */
function homePath(user: string, cluster: ClusterId): string {
  return isPath(user) && !user.includes(':') ? `user:${user}` : cluster;
}

async function makeHome(
  cluster: ClusterId,
  context: RequestContext,
  { backend, catalogs, authorizer, creators }: Parameters<typeof homeWorkspace>[0] & { readonly backend: Backend },
): Promise<LogicalCluster> {
  const asked = { ...attributesOf(context.info, context.user), verb: 'create' };
  const isPermitted =
    creators === undefined || context.user.groups.includes(superuserGroup)
      ? (await authorizer.authorize(asked)).allowed
      : context.user.groups.some((group) => creators.includes(group));
  if (!isPermitted) throw forbidden(asked, 'workspace access not permitted');
  const object: LogicalCluster = {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: {
      name: logicalClusterName,
      annotations: {
        [ownerAnnotation]: ownerText(context.user),
        [typeAnnotation]: `${rootCluster}:home`,
        [pathAnnotation]: homePath(context.user.name, cluster),
      },
    },
    spec: {},
  };
  const resource = catalogs.of(rootCluster).resource(logicalClusters.group, 'v1alpha1', logicalClusters.resource)!;
  const inside = new RequestContext({ ...context, info: { ...context.info, cluster }, user: serverUser });
  try {
    const { entry } = await create(backend, inside, { resource, namespace: '', object, manager: 'kube-apiserver', dryRun: false });
    return entry.parse() as LogicalCluster;
  } catch (error) {
    // Another request of the same user created it at the same time.
    if (error instanceof StatusError && error.reason === 'AlreadyExists') throw status.tooManyRequests('Creating the home workspace', 1);
    throw error;
  }
}
