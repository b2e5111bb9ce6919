import { ownerAnnotation, phaseLabel, shardAnnotation, trimmedOwner } from '@capstan/api';
import { type Fields, fieldsOf, formatTime, itemsOf, type KubeObject, StatusError, status, textOf, textsOf } from '@capstan/machinery';
import { StoreError } from '@capstan/store';
import { storedText } from '../../cache/entry.ts';
import { storeKey, type WatchCache } from '../../cache/watch-cache.ts';
import type { Catalog } from '../../registry/catalog.ts';
import { create } from '../../registry/create.ts';
import type { Backend } from '../../registry/objects.ts';
import { serverContext } from '../../upkeep/context.ts';
import { logicalClusterOf, logicalClusters, workspaces } from '../tree.ts';

/** What is asked for: the object that the workspace begins with, and the Workspace that it is for. */
export interface Beginning {
  readonly logicalCluster: KubeObject;
  /** Where people will find it. */
  readonly url: string;
  /** How a Workspace names its shard. */
  readonly shard: string;
}

export interface Begun {
  readonly logicalCluster: KubeObject;
  /** False when somebody changed the Workspace meanwhile: it does not say yet what became of it. */
  readonly isTold: boolean;
}

/** Refuses what is no beginning. */
export function parseBeginning(text: string): Beginning {
  let fields: Readonly<Fields>;
  try {
    fields = fieldsOf(JSON.parse(text));
  } catch (error) {
    throw status.badRequest(`expected JSON: ${(error as Error).message}`);
  }
  const isWhole =
    fieldsOf(fields['logicalCluster'])['kind'] === 'LogicalCluster' && textOf(fields['url']) !== '' && textOf(fields['shard']) !== '';
  if (!isWhole) throw status.badRequest('expected {"logicalCluster":{"kind":"LogicalCluster",…},"url":"…","shard":"…"}');
  return fields as unknown as Beginning;
}

/** Begins a workspace, and tells its Workspace: what would be three requests is one. Whoever resumes finds what is there. */
export async function beginWorkspace(
  { backend, cache, kinds, now }: { backend: () => Backend; cache: WatchCache; kinds: () => Catalog; now: () => Date },
  cluster: string,
  { logicalCluster, url, shard }: Beginning,
): Promise<Begun> {
  const resource = kinds().resource(logicalClusters.group, 'v1alpha1', logicalClusters.resource)!;
  const context = serverContext({ cluster, objects: cache, now });
  let made = logicalClusterOf(cache, cluster);
  if (made === undefined) {
    try {
      const { entry } = await create(backend(), context, {
        resource,
        namespace: '',
        object: logicalCluster,
        manager: 'kube-apiserver',
        dryRun: false,
      });
      made = entry.parse();
    } catch (error) {
      if (!(error instanceof StatusError) || error.reason !== 'AlreadyExists') throw error;
      throw status.conflict(logicalClusters, cluster, 'it is being made by somebody else');
    }
  }
  return { logicalCluster: made, isTold: await tell(cache, made, { url, shard, cluster, now: now() }) };
}

async function tell(
  cache: WatchCache,
  logicalCluster: KubeObject,
  about: { url: string; shard: string; cluster: string; now: Date },
): Promise<boolean> {
  const owner = fieldsOf(fieldsOf(logicalCluster['spec'])['owner']);
  const place = { ...workspaces, cluster: textOf(owner['cluster']), namespace: '', name: textOf(owner['name']) };
  const entry = cache.resource(workspaces).newest(`${place.cluster}//${place.name}`);
  if (entry === undefined) return false;
  const object = entry.parse();
  if (object.metadata.uid !== owner['uid'] || object.metadata.deletionTimestamp !== undefined) return false;
  try {
    await cache.store.update(storeKey(place), storedText(told(object, logicalCluster, about)), entry.revision);
    return true;
  } catch (error) {
    if (error instanceof StoreError && (error.code === 'conflict' || error.code === 'missing')) return false;
    throw error;
  }
}

/** The Workspace as its controller would leave it. */
function told(
  object: KubeObject,
  logicalCluster: KubeObject,
  { url, shard, cluster, now }: { url: string; shard: string; cluster: string; now: Date },
): KubeObject {
  const { phase, initializers, terminators, conditions } = fieldsOf(logicalCluster['status']);
  const { annotations = {}, labels, generation = 0 } = object.metadata;
  const owner = phase === 'Ready' ? trimmedOwner(annotations[ownerAnnotation]) : undefined;
  const scheduled: Fields = { type: 'WorkspaceScheduled', status: 'True', lastTransitionTime: formatTime(now) };
  return {
    ...object,
    metadata: {
      ...object.metadata,
      generation: generation + 1,
      labels: { ...labels, [phaseLabel]: textOf(phase) },
      annotations: { ...annotations, [shardAnnotation]: shard, ...(owner !== undefined && { [ownerAnnotation]: owner }) },
    },
    spec: { ...fieldsOf(object['spec']), cluster, URL: url },
    status: {
      phase,
      ...(textsOf(initializers).length > 0 && { initializers }),
      ...(textsOf(terminators).length > 0 && { terminators }),
      conditions: [...itemsOf(conditions).filter(({ type }) => type === 'WorkspaceInitialized'), scheduled],
    },
  };
}
