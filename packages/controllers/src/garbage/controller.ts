import { isConflict } from '@capstan/client';
import { type ControllerContext, type Result, type Runnable, requeueAfter, WorkQueue } from '@capstan/controller';
import { followJournal, type JournalEntry } from '../journal/follow.ts';
import { serverActions } from './actions.ts';
import { OwnerGraph } from './graph.ts';
import { Items } from './item.ts';
import { KnownTypes } from './known-types.ts';
import { type GarbageActions, reconcileItem } from './reconcile.ts';

const name = 'garbage-collector';

export interface GarbageCollectorOptions {
  /** How many objects at the same time. */
  readonly concurrency?: number | undefined;
}

/**
 * Follows every object of every kind in all workspaces, and deletes what has lost its owners. Unlike other controllers it reads the journal and no informers, so
 * it has a loop of its own over the same queue.
 */
export class GarbageCollector implements Runnable {
  readonly name = name;
  readonly #workers: number;

  constructor({ concurrency = 16 }: GarbageCollectorOptions = {}) {
    this.#workers = concurrency;
  }

  async run(context: ControllerContext): Promise<void> {
    const { client, events, metrics, signal, drop } = context;
    const queue = new WorkQueue<string>({
      keyOf: (uid) => uid,
      backoff: { base: 50, max: 60_000 },
      rate: { perSecond: 200, burst: 1000 },
    });
    const graph = new OwnerGraph();
    metrics.gauge('workqueue_depth', 'Objects that wait.', { labels: { name }, read: () => queue.depth });
    metrics.gauge('garbage_collector_objects', 'Objects whose owners are known.', { read: () => graph.size });
    using _closing = closeWith(signal, queue);
    const { promise: filled, resolve: fill } = Promise.withResolvers<void>();
    const reading = follow(context, { graph, queue, fill });
    // Whom an object owns is known only when everything has been read.
    await Promise.race([filled, reading]);
    const actions = serverActions({ client, events, graph, types: new KnownTypes(client), look: (uid) => queue.add(uid), signal: drop });
    await Promise.all(Array.from({ length: this.#workers }, () => work({ queue, graph, actions, context })));
    await reading;
  }
}

interface Work {
  readonly queue: WorkQueue<string>;
  readonly graph: OwnerGraph;
  readonly actions: GarbageActions;
  readonly context: ControllerContext;
}

/** Keeps the graph what the journal says. */
function follow(
  { client, signal, onError }: ControllerContext,
  { graph, queue, fill }: { graph: OwnerGraph; queue: WorkQueue<string>; fill: () => void },
): Promise<void> {
  let told: Set<string> | undefined;
  const items = new Items();
  const look = (uids: readonly string[]): void => {
    for (const uid of uids) queue.add(uid);
  };
  return followJournal(
    // It is one for all workspaces.
    client.cluster('root'),
    {
      begins: () => {
        told = new Set();
      },
      entry: (entry) => {
        told?.add(entry.metadata.uid);
        look(noted(graph, items, entry));
      },
      synced: () => {
        for (const uid of [...graph.uids()]) if (told?.has(uid) === false) look(graph.remove(uid));
        told = undefined;
        fill();
      },
      failed: (error) => onError(error, { name: 'journal' }),
    },
    signal,
  );
}

/** The uids that should be looked at because of what is told. */
function noted(graph: OwnerGraph, items: Items, entry: JournalEntry): string[] {
  const { uid, resourceVersion } = entry.metadata;
  const known = graph.get(uid);
  if (entry.type === 'DELETED') return graph.remove(uid);
  // What happened while everything was told may have been told already.
  if (known !== undefined && Number(known.metadata.resourceVersion) >= Number(resourceVersion)) return [];
  return graph.put(items.of(entry));
}

async function work({ queue, graph, actions, context }: Work): Promise<void> {
  for (let uid = await queue.take(); uid !== undefined; uid = await queue.take()) {
    if (!context.isLeading()) {
      queue.done(uid);
      queue.close();
      return;
    }
    try {
      const result = await reconcileOne(graph, uid, actions);
      queue.forget(uid);
      if (result.type === 'requeueAfter') queue.addAfter(uid, result.milliseconds);
    } catch (error) {
      context.onError(error, { name: describe(graph, uid) });
      queue.addFailed(uid);
    }
    queue.done(uid);
  }
}

async function reconcileOne(graph: OwnerGraph, uid: string, actions: GarbageActions): Promise<Result> {
  try {
    return await reconcileItem(graph, uid, actions);
  } catch (error) {
    // Somebody else wrote: the copy will have it in a moment.
    if (isConflict(error)) return requeueAfter(50);
    throw error;
  }
}

function describe(graph: OwnerGraph, uid: string): string {
  const item = graph.get(uid);
  return item === undefined ? uid : `${item.type.kind} ${item.metadata.namespace ?? ''}/${item.metadata.name ?? ''} in ${item.cluster}`;
}

function closeWith(signal: AbortSignal, queue: WorkQueue<string>): Disposable {
  const close = (): void => queue.close();
  signal.addEventListener('abort', close, { once: true });
  if (signal.aborted) close();
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', close) };
}
