import { discover } from '@capstan/client';
import { type ControllerContext, type Runnable, WorkLoop } from '@capstan/controller';
import { followJournal, type JournalEntry } from '../journal/follow.ts';
import { WorkspaceTypeCache } from '../journal/workspace-type-cache.ts';
import { serverActions } from './actions.ts';
import { OwnerGraph } from './graph.ts';
import { Items } from './item.ts';
import { reconcileItem } from './reconcile.ts';

const name = 'garbage-collector';

export interface GarbageCollectorOptions {
  /** How many objects at the same time. */
  readonly concurrency?: number | undefined;
}

/** Follows every object of every kind in all workspaces through the journal, without informers, and deletes those that have lost their owners. */
export class GarbageCollector implements Runnable {
  readonly name = name;
  readonly #concurrency: number;

  constructor({ concurrency = 16 }: GarbageCollectorOptions = {}) {
    this.#concurrency = concurrency;
  }

  async run(context: ControllerContext): Promise<void> {
    const { client, events, metrics, drop } = context;
    const graph = new OwnerGraph();
    using loop = new WorkLoop<string>(context, {
      name,
      keyOf: (uid) => uid,
      objectOf: (uid) => ({ name: describe(graph, uid) }),
      concurrency: this.#concurrency,
      backoff: { base: 50, max: 60_000 },
      rate: { perSecond: 200, burst: 1000 },
    });
    const look = (uid: string): void => loop.queue.add(uid);
    metrics.gauge('garbage_collector_objects', 'Objects whose owners are known.', { read: () => graph.size });
    const { promise: filled, resolve: fill } = Promise.withResolvers<void>();
    const reading = follow(context, { graph, look, fill });
    // The dependents of an object are known only after everything has been read.
    await Promise.race([filled, reading]);
    const types = new WorkspaceTypeCache({
      discover: (cluster, signal) => discover(client.cluster(cluster), signal),
      lifetime: 30_000,
      keyOf: kindKey,
    });
    const actions = serverActions({ client, events, graph, types, look, signal: drop });
    await loop.run((uid) => reconcileItem(graph, uid, actions));
    await reading;
  }
}

/** Applies the journal to the graph. */
function follow(
  { client, signal, onError }: ControllerContext,
  { graph, look, fill }: { graph: OwnerGraph; look: (uid: string) => void; fill: () => void },
): Promise<void> {
  /** The objects that the current reading has listed; undefined once it has listed all. */
  let listed: Set<string> | undefined;
  const items = new Items();
  return followJournal(
    // Any workspace serves the journal of all.
    client.cluster('root'),
    {
      begins: () => {
        listed = new Set();
      },
      entry: (entry) => {
        listed?.add(entry.metadata.uid);
        for (const uid of apply(graph, items, entry)) look(uid);
      },
      synced: () => {
        for (const uid of [...graph.uids()]) if (listed?.has(uid) === false) for (const affected of graph.remove(uid)) look(affected);
        listed = undefined;
        fill();
      },
      failed: (error) => onError(error, { name: 'journal' }),
    },
    signal,
  );
}

/** Returns the uids of the objects to look at because of an entry. */
function apply(graph: OwnerGraph, items: Items, entry: JournalEntry): string[] {
  const { uid, resourceVersion } = entry.metadata;
  const known = graph.get(uid);
  if (entry.type === 'DELETED') return graph.remove(uid);
  // A change during the first listing may have been part of it.
  if (known !== undefined && Number(known.metadata.resourceVersion) >= Number(resourceVersion)) return [];
  return graph.put(items.of(entry));
}

function describe(graph: OwnerGraph, uid: string): string {
  const item = graph.get(uid);
  return item === undefined ? uid : `${item.type.kind} ${item.metadata.namespace ?? ''}/${item.metadata.name ?? ''} in ${item.cluster}`;
}

/** `apps/v1/Deployment`, as owner references name kinds. */
function kindKey({ group, version, kind }: { group: string; version: string; kind: string }): string {
  return `${group === '' ? '' : `${group}/`}${version}/${kind}`;
}
