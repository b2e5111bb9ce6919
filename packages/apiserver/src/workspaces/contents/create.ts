import {
  asClusterId,
  type ClusterId,
  type CreatedWorkspace,
  type LogicalCluster,
  ownerAnnotation,
  phaseLabel,
  shardAnnotation,
  trimmedOwner,
  type Workspace,
  type WorkspaceCreation,
  workspacePhase,
  workspaceStatus,
} from '@capstan/api';
import { type Fields, fieldsOf, StatusError, status, textOf } from '@capstan/machinery';
import { StoreError } from '@capstan/store';
import { storedText } from '../../cache/entry.ts';
import { storeKey, type WatchCache } from '../../cache/watch-cache.ts';
import type { Catalog } from '../../registry/catalog.ts';
import { create } from '../../registry/create.ts';
import type { Backend } from '../../registry/objects.ts';
import { serverContext } from '../../upkeep/context.ts';
import { logicalClusterOf, logicalClusters, workspaces } from '../tree.ts';

/** Parses the body of a request to create a workspace. */
export function parseCreation(text: string): WorkspaceCreation {
  let fields: Readonly<Fields>;
  try {
    fields = fieldsOf(JSON.parse(text));
  } catch (error) {
    throw status.badRequest(`expected JSON: ${(error as Error).message}`);
  }
  const isWhole =
    fieldsOf(fields['logicalCluster'])['kind'] === 'LogicalCluster' && textOf(fields['url']) !== '' && textOf(fields['shard']) !== '';
  if (!isWhole) throw status.badRequest('expected {"logicalCluster":{"kind":"LogicalCluster",…},"url":"…","shard":"…"}');
  return fields as unknown as WorkspaceCreation;
}

/** Creates a workspace and updates its Workspace: one request instead of three. Whatever exists already is kept, so that a retry completes the work. */
export async function createWorkspace(
  { backend, cache, kinds, now }: { backend: Backend; cache: WatchCache; kinds: () => Catalog; now: () => Date },
  cluster: ClusterId,
  { logicalCluster, url, shard }: WorkspaceCreation,
): Promise<CreatedWorkspace> {
  const resource = kinds().resource(logicalClusters.group, 'v1alpha1', logicalClusters.resource)!;
  const context = serverContext({ cluster, objects: cache, now });
  let created = logicalClusterOf(cache, cluster);
  if (created === undefined) {
    try {
      const request = { resource, namespace: '', object: logicalCluster, manager: 'kube-apiserver', dryRun: false };
      created = (await create(backend, context, request)).entry.parse() as LogicalCluster;
    } catch (error) {
      if (!(error instanceof StatusError) || error.reason !== 'AlreadyExists') throw error;
      throw status.conflict(logicalClusters, cluster, 'it is being made by somebody else');
    }
  }
  return { logicalCluster: created, workspaceUpdated: await updateWorkspace(cache, created, { url, shard, cluster, now: now() }) };
}

interface Placement {
  readonly url: string;
  readonly shard: string;
  readonly cluster: ClusterId;
  readonly now: Date;
}

/** Returns false if the Workspace is gone or somebody changed it meanwhile: its controller updates it then. */
async function updateWorkspace(cache: WatchCache, logicalCluster: LogicalCluster, placement: Placement): Promise<boolean> {
  const { cluster = '', name = '', uid } = logicalCluster.spec?.owner ?? {};
  const entry = cache.resource(workspaces).newest(`${cluster}//${name}`);
  if (entry === undefined) return false;
  const workspace = entry.parse();
  if (workspace.metadata.uid !== uid || workspace.metadata.deletionTimestamp !== undefined) return false;
  try {
    const key = storeKey({ ...workspaces, cluster: asClusterId(cluster), namespace: '', name });
    await cache.store.update(key, storedText(placed(workspace, logicalCluster, placement)), entry.revision);
    return true;
  } catch (error) {
    if (error instanceof StoreError && (error.code === 'conflict' || error.code === 'missing')) return false;
    throw error;
  }
}

/** The Workspace as its controller would leave it. */
function placed(workspace: Workspace, logicalCluster: LogicalCluster, { url, shard, cluster, now }: Placement): Workspace {
  const { annotations = {}, labels, generation = 0 } = workspace.metadata;
  const status = workspaceStatus(logicalCluster, undefined, now);
  const owner = status.phase === 'Ready' ? trimmedOwner(annotations[ownerAnnotation]) : undefined;
  return {
    ...workspace,
    metadata: {
      ...workspace.metadata,
      generation: generation + 1,
      labels: { ...labels, [phaseLabel]: workspacePhase(logicalCluster) },
      annotations: { ...annotations, [shardAnnotation]: shard, ...(owner !== undefined && { [ownerAnnotation]: owner }) },
    },
    spec: { ...workspace.spec, cluster, URL: url },
    status,
  };
}
