import { setTimeout as sleep } from 'node:timers/promises';
import { type Change, type DiscoveredResource, type InformerFactory, isConflict } from '@capstan/client';
import { type ControllerContext, type Result, type Runnable, requeueAfter, WorkQueue } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { serverActions } from './actions.ts';
import { OwnerGraph } from './graph.ts';
import { Monitors } from './monitors.ts';
import { type GarbageActions, reconcileItem } from './reconcile.ts';

const definitions = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions', namespaced: false };
const selection = { metadataOnly: true };
const name = 'garbage-collector';
/** Stands in the queue among uids: ask what types there are. */
const rediscover = 'rediscover';
const rediscoverEvery = 30_000;
/** A type is served a moment after its definition says so. */
const typeSettles = 500;
/** A type that cannot be listed must not hold up all others for ever. */
const syncTimeout = 30_000;

export interface GarbageCollectorOptions {
  /** How many objects at the same time. */
  readonly concurrency?: number | undefined;
}

/**
 * Watches every type that the server serves, and deletes what has lost its owners. Unlike other controllers it learns what to watch while it runs, so
 * it has a loop of its own over the same queue.
 */
export class GarbageCollector implements Runnable {
  readonly name = name;
  readonly #workers: number;

  constructor({ concurrency = 16 }: GarbageCollectorOptions = {}) {
    this.#workers = concurrency;
  }

  prepare(informers: InformerFactory): void {
    informers.informer(definitions, selection);
  }

  async run(context: ControllerContext): Promise<void> {
    const { client, events, informers, metrics, signal, drop } = context;
    const queue = new WorkQueue<string>({
      keyOf: (uid) => uid,
      backoff: { base: 50, max: 60_000 },
      rate: { perSecond: 200, burst: 1000 },
    });
    const graph = new OwnerGraph();
    await using monitors = new Monitors({
      client,
      onChange: (type, change) => note(graph, queue, { type, change }),
      onError: (error, { resource }) => context.onError(error, { name: resource }),
    });
    metrics.gauge('workqueue_depth', 'Objects that wait.', { labels: { name }, read: () => queue.depth });
    metrics.gauge('garbage_collector_objects', 'Objects whose owners are known.', { read: () => graph.size });
    using _closing = closeWith(signal, queue);
    await this.#fill(monitors, context);
    using _following = informers.informer(definitions, selection).onChange(() => queue.addAfter(rediscover, typeSettles));
    queue.addAfter(rediscover, rediscoverEvery);
    const actions = serverActions({ client, events, graph, monitors, look: (uid) => queue.add(uid), signal: drop });
    await Promise.all(Array.from({ length: this.#workers }, () => this.#work({ queue, graph, monitors, actions, context })));
  }

  /** Whom an object owns is known only when all types have been read. */
  async #fill(monitors: Monitors, { signal, onError }: ControllerContext): Promise<void> {
    while (!signal.aborted) {
      try {
        await monitors.refresh(signal);
        await monitors.synced(AbortSignal.any([signal, AbortSignal.timeout(syncTimeout)]));
        return;
      } catch (error) {
        if (signal.aborted) return;
        onError(error, { name: rediscover });
        if (monitors.size > 0) return;
        await sleep(1000, undefined, { signal }).catch(() => {});
      }
    }
  }

  async #work({ queue, graph, monitors, actions, context }: Work): Promise<void> {
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      if (!context.isLeading()) {
        queue.done(key);
        queue.close();
        return;
      }
      try {
        const result = key === rediscover ? await refresh(monitors, context.signal) : await reconcileOne(graph, key, actions);
        queue.forget(key);
        if (result.type === 'requeueAfter') queue.addAfter(key, result.milliseconds);
      } catch (error) {
        context.onError(error, { name: describe(graph, key) });
        queue.addFailed(key);
      }
      queue.done(key);
    }
  }
}

interface Work {
  readonly queue: WorkQueue<string>;
  readonly graph: OwnerGraph;
  readonly monitors: Monitors;
  readonly actions: GarbageActions;
  readonly context: ControllerContext;
}

function note(
  graph: OwnerGraph,
  queue: WorkQueue<string>,
  { type, change }: { type: DiscoveredResource; change: Change<KubeObject> },
): void {
  const { metadata } = change.object;
  const uid = metadata.uid ?? '';
  // The same name, made anew between two looks: the first one is gone.
  const replaced = change.type === 'updated' && change.old.metadata.uid !== uid ? graph.remove(change.old.metadata.uid ?? '') : [];
  const affected = change.type === 'deleted' ? graph.remove(uid) : graph.put({ uid, type, metadata });
  for (const one of [...replaced, ...affected]) queue.add(one);
}

async function refresh(monitors: Monitors, signal: AbortSignal): Promise<Result> {
  await monitors.refresh(signal);
  return requeueAfter(rediscoverEvery);
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

function describe(graph: OwnerGraph, key: string): string {
  const item = graph.get(key);
  return item === undefined ? key : `${item.type.kind} ${item.metadata.namespace ?? ''}/${item.metadata.name ?? ''}`;
}

function closeWith(signal: AbortSignal, queue: WorkQueue<string>): Disposable {
  const close = (): void => queue.close();
  signal.addEventListener('abort', close, { once: true });
  if (signal.aborted) close();
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', close) };
}
