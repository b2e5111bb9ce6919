import {
  type Change,
  type Client,
  formatKey,
  type InformerFactory,
  type InformerSelection,
  type ObjectKey,
  objectKey,
  type ResourceType,
} from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import type { EventRecorder } from '../events/recorder.ts';
import type { ControllerContext, Runnable } from '../manager/runnable.ts';
import type { RateOptions } from '../queue/rate.ts';
import { type Priority, WorkQueue } from '../queue/work-queue.ts';
import { observeQueue, reconcileMetrics } from './observe.ts';
import type { Predicate } from './predicate.ts';
import { type Result, TerminalError } from './result.ts';

/** What a reconciler is given. */
export interface Reconcile<T extends KubeObject> {
  readonly key: ObjectKey;
  /** From the shared copy, so it must not be changed; undefined when it is gone. */
  readonly object: T | undefined;
  /** Of the object's workspace. Its writes are refused once this process does not lead any more. */
  readonly client: Client;
  readonly events: EventRecorder;
  /** Aborted when the work must be dropped. */
  readonly signal: AbortSignal;
  /** 0, then one more for each failure in a row. */
  readonly attempt: number;
}

export type Reconciler<T extends KubeObject> = (request: Reconcile<T>) => Promise<Result> | Result;

/** Something that is watched, and which objects to look at when it changes. */
export interface Source {
  readonly type: ResourceType;
  readonly selection: InformerSelection;
  readonly predicate: Predicate | undefined;
  readonly keysOf: (object: KubeObject) => readonly ObjectKey[];
}

export interface ControllerOptions {
  /** How many objects at the same time. */
  readonly concurrency?: number;
  /** In milliseconds: every object is looked at again so often, whether it changed or not. Ten hours when absent; 0 for never. */
  readonly resyncEvery?: number;
  /** In milliseconds: a reconcile that takes longer is aborted. */
  readonly timeout?: number;
  readonly backoff?: { readonly base: number; readonly max: number };
  readonly rate?: RateOptions;
  /** Keys that share a turn; the workspace when absent. */
  readonly fairness?: (key: ObjectKey) => string;
}

export interface ControllerSpec<T extends KubeObject> {
  readonly name: string;
  readonly primary: Source;
  readonly sources: readonly Source[];
  readonly reconciler: Reconciler<T>;
  readonly options: ControllerOptions;
}

const tenHours = 36_000_000;

/** Calls a reconciler for each object that it should look at. */
export class Controller<T extends KubeObject = KubeObject> implements Runnable {
  readonly name: string;
  readonly #spec: ControllerSpec<T>;

  constructor(spec: ControllerSpec<T>) {
    this.name = spec.name;
    this.#spec = spec;
  }

  /** Asks for all informers, so that they can fill before the work begins. */
  prepare(informers: InformerFactory): void {
    for (const { type, selection } of this.#all()) informers.informer(type, selection);
  }

  /** Works until the signal; resolves when the last reconcile has ended. */
  async run(context: ControllerContext): Promise<void> {
    const { primary, options } = this.#spec;
    const queue = new WorkQueue<ObjectKey>({
      keyOf: formatKey,
      fairness: options.fairness ?? (({ cluster }) => cluster ?? ''),
      ...(options.backoff && { backoff: options.backoff }),
      ...(options.rate && { rate: options.rate }),
      observer: observeQueue(this.name, context.metrics),
    });
    context.metrics.gauge('workqueue_depth', 'Objects that wait.', { labels: { name: this.name }, read: () => queue.depth });
    await context.informers.synced(context.signal);
    const every = options.resyncEvery ?? tenHours;
    const resync = (): void => {
      for (const object of context.informers.informer(primary.type, primary.selection).list()) queue.add(objectKey(object), 'resync');
    };
    const timer = every > 0 ? setInterval(resync, every) : undefined;
    const onStop = (): void => queue.close();
    context.signal.addEventListener('abort', onStop, { once: true });
    if (context.signal.aborted) queue.close();
    const sources: Disposable[] = [];
    try {
      for (const source of this.#all()) sources.push(follow(source, context.informers, queue));
      const metrics = reconcileMetrics(this.name, context.metrics);
      await Promise.all(Array.from({ length: options.concurrency ?? 1 }, () => this.#work({ queue, context, metrics })));
    } finally {
      context.signal.removeEventListener('abort', onStop);
      clearInterval(timer);
      for (const source of sources) source[Symbol.dispose]();
    }
  }

  #all(): readonly Source[] {
    return [this.#spec.primary, ...this.#spec.sources];
  }

  async #work({
    queue,
    context,
    metrics,
  }: {
    queue: WorkQueue<ObjectKey>;
    context: ControllerContext;
    metrics: ReturnType<typeof reconcileMetrics>;
  }): Promise<void> {
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      if (!context.isLeading()) {
        queue.done(key);
        queue.close();
        return;
      }
      const before = performance.now();
      const result = await this.#reconcile(key, queue.failures(key), context);
      metrics.ended(result.type, performance.now() - before);
      this.#settle(result, key, { queue, context });
      queue.done(key);
    }
  }

  #settle(result: Result, key: ObjectKey, { queue, context }: { queue: WorkQueue<ObjectKey>; context: ControllerContext }): void {
    if (result.type === 'error') {
      context.onError(result.error, key);
      queue.addFailed(key);
      return;
    }
    queue.forget(key);
    if (result.type === 'requeueAfter') queue.addAfter(key, result.milliseconds);
    else if (result.type === 'terminal') context.onError(result.error, key);
  }

  /** Whatever the reconciler does, this answers. */
  async #reconcile(key: ObjectKey, attempt: number, context: ControllerContext): Promise<Result> {
    const { primary, reconciler, options } = this.#spec;
    const signal = options.timeout === undefined ? context.drop : AbortSignal.any([context.drop, AbortSignal.timeout(options.timeout)]);
    try {
      return await reconciler({
        key,
        object: context.informers.informer<T>(primary.type, primary.selection).get(key),
        client: key.cluster === undefined ? context.client : context.client.cluster(key.cluster),
        events: context.events,
        signal,
        attempt,
      });
    } catch (error) {
      return error instanceof TerminalError ? { type: 'terminal', error } : { type: 'error', error };
    }
  }
}

function follow(source: Source, informers: InformerFactory, queue: WorkQueue<ObjectKey>): Disposable {
  return informers.informer(source.type, source.selection).onChange((change) => {
    if (source.predicate !== undefined && !source.predicate(change)) return;
    // What was there already is a look whether all is well; what happens now is a change.
    const priority: Priority = change.type === 'added' && change.initial ? 'resync' : 'fresh';
    for (const key of keysOf(source, change)) queue.add(key, priority);
  });
}

/** Also those that the object pointed to before: they lost something. The queue makes one of two. */
function keysOf({ keysOf: map }: Source, change: Change<KubeObject>): readonly ObjectKey[] {
  return change.type === 'updated' ? [...map(change.object), ...map(change.old)] : map(change.object);
}
