import { randomBytes } from 'node:crypto';
import { type Client, type InformerFactory, isForbidden, isNotFound, keyText, type ObjectKey, objectKey } from '@capstan/client';
import { controller, done, type Result, type Runnable, whenOutdated } from '@capstan/controller';
import type { JsonObject, KubeObject } from '@capstan/machinery';
import { informed } from '../../informed.ts';
import {
  type Begun,
  type LogicalCluster,
  logicalClusterName,
  logicalClusterType,
  type Purged,
  rootCluster,
  type Shard,
  shardType,
  type Workspace,
  workspaceType,
} from '../kinds.ts';
import { addressOf } from '../shard-address.ts';
import { isOurs, reconcileWorkspace } from './reconcile.ts';

/** Watches Workspaces, what became of their logical clusters, and the shards that they could be on. */
export function workspaceController({ concurrency = 64 }: { readonly concurrency?: number | undefined } = {}): Runnable {
  const written = new Written();
  return informed((informers) =>
    controller('workspace')
      .for<Workspace>(workspaceType)
      // A new one was made by us: what comes of it is what matters.
      .watches<LogicalCluster>(logicalClusterType, ownerOf, { predicate: ({ type }) => type !== 'added' })
      .watches<Shard>(shardType, () => unlikeShards(informers()))
      .reconcile(
        ({ key, object, client, signal }) =>
          written.isBehind(key, object) ? done : reconcileOne({ key, workspace: object, client, signal, informers: informers(), written }),
        // Workspaces of one parent do not wait for each other's turn.
        { concurrency, backoff: { base: 100, max: 30_000 }, fairness: ({ cluster = '' }) => cluster },
      ),
  );
}

interface Work {
  readonly key: ObjectKey;
  readonly workspace: Workspace | undefined;
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly informers: InformerFactory;
  readonly written: Written;
}

async function reconcileOne({ key, workspace, client, signal, informers, written }: Work): Promise<Result> {
  const workspaces = client.resource<Workspace>(workspaceType);
  const clusters = informers.informer<LogicalCluster>(logicalClusterType);
  const root = client.cluster(rootCluster);
  const write = async (patch: JsonObject, subresource?: string): Promise<void> => {
    const answer = await workspaces.patch(
      key.name,
      { type: 'merge', patch },
      { signal, ...(subresource !== undefined && { subresource }) },
    );
    written.note(answer, informers.informer(workspaceType).get(key));
  };
  try {
    return await reconcileWorkspace(workspace, {
      cluster: key.cluster ?? rootCluster,
      shards: () => informers.informer<Shard>(shardType).list(),
      logicalCluster: (id) => clusters.get({ cluster: id, name: logicalClusterName }),
      readLogicalCluster: (id) =>
        unlessGone(client.cluster(id).resource<LogicalCluster>(logicalClusterType).get(logicalClusterName, { signal })),
      begin: async (id, wanted) => {
        const call = { method: 'POST', path: `/capstan/workspaces/${id}/begin`, body: JSON.stringify(wanted), signal };
        const begun = await root.json<Begun>(call);
        return isOurs(begun.logicalCluster, workspace!) ? begun : undefined;
      },
      purge: (id) =>
        root.json<Purged>({ method: 'DELETE', path: `/capstan/workspaces/${id}/content?${ownerQuery(key, workspace!)}`, signal }),
      patch: (patch) => write(patch),
      patchStatus: (patch) => write(patch, 'status'),
      newId: () =>
        BigInt(`0x${randomBytes(28).toString('hex')}`)
          .toString(36)
          .slice(0, 16),
      now: () => new Date(),
    });
  } catch (error) {
    return whenOutdated(error);
  }
}

function ownerQuery({ cluster = rootCluster, name }: ObjectKey, { metadata }: Workspace): string {
  return new URLSearchParams({ ownerCluster: cluster, ownerName: name, ownerUid: metadata.uid ?? '' }).toString();
}

/** A workspace that is not there looks like one that is closed. */
async function unlessGone<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return undefined;
    throw error;
  }
}

function ownerOf({ spec }: LogicalCluster): ObjectKey[] {
  const owner = spec?.owner;
  return owner === undefined ? [] : [{ cluster: owner.cluster, name: owner.name }];
}

/** Workspaces that have no shard yet, or whose URL is that of a shard which has moved to another address. */
function unlikeShards(informers: InformerFactory): ObjectKey[] {
  const bases = informers.informer<Shard>(shardType).list().map(addressOf);
  return informers
    .informer<Workspace>(workspaceType)
    .list()
    .filter(
      ({ spec }) => spec?.mount === undefined && (spec?.cluster === undefined || !bases.some((base) => spec.URL?.startsWith(`${base}/`))),
    )
    .map(objectKey);
}

/** What was written and has not come back yet: until it has, the copy shows what was. Holds only keys that are under way. */
class Written {
  readonly #revisions = new Map<string, number>();

  note(object: KubeObject, seen: KubeObject | undefined): void {
    // What the last finalizer was taken from does not come back as it was.
    if (object.metadata.deletionTimestamp !== undefined || seen === undefined) return;
    const revision = Number(object.metadata.resourceVersion);
    if (revision > Number(seen.metadata.resourceVersion)) this.#revisions.set(keyText(object), revision);
  }

  isBehind(key: ObjectKey, object: KubeObject | undefined): boolean {
    const text = object === undefined ? `${key.cluster === undefined ? '' : `${key.cluster}|`}${key.name}` : keyText(object);
    const expected = this.#revisions.get(text);
    if (expected === undefined) return false;
    if (object !== undefined && Number(object.metadata.resourceVersion) < expected) return true;
    this.#revisions.delete(text);
    return false;
  }
}
