import { noTracer, type ObjectKey, type ResourceType, traced } from '@capstan/client';
import type { ControllerContext } from '../manager/runnable.ts';
import { WorkQueue, type WorkQueueOptions } from '../queue/work-queue.ts';
import { resultOf, type Subject } from './failure.ts';
import { observeLoop, observeQueue, type ReconcileMetrics, reconcileMetrics } from './observe.ts';
import type { Result } from './result.ts';

export interface WorkLoopOptions<T> extends Pick<WorkQueueOptions<T>, 'keyOf' | 'fairness' | 'backoff' | 'rate'> {
  /** Identifies the loop in metrics. */
  readonly name: string;
  /** Names an item in error reports; the key of the object if the item is about one. */
  readonly objectOf: (item: T) => ObjectKey;
  /** The type of the objects that `objectOf` names. If it is given, work ends quietly when the server says that the object is gone. */
  readonly type?: Pick<ResourceType, 'group' | 'resource'>;
  /** How many items at the same time; 1 by default. */
  readonly concurrency?: number | undefined;
}

/**
 * A queue, and workers that take items from it until the context's signal is aborted or this process no longer leads. `Controller` uses it; so can any
 * `Runnable` whose items are not the objects of an informer. Create it, feed `queue`, then call `run`.
 */
export class WorkLoop<T> implements Disposable {
  readonly queue: WorkQueue<T>;
  readonly #context: ControllerContext;
  readonly #options: WorkLoopOptions<T>;
  readonly #metrics: ReconcileMetrics;
  readonly #close = (): void => this.queue.close();
  readonly #gauges: Disposable;
  #active = 0;

  constructor(context: ControllerContext, options: WorkLoopOptions<T>) {
    const { name, keyOf, fairness, backoff, rate } = options;
    this.#context = context;
    this.#options = options;
    this.#metrics = reconcileMetrics(name, context.metrics);
    const queue = new WorkQueue<T>({
      keyOf,
      ...(fairness && { fairness }),
      ...(backoff && { backoff }),
      ...(rate && { rate }),
      observer: observeQueue(name, context.metrics),
    });
    this.queue = queue;
    this.#gauges = observeLoop(name, context.metrics, {
      depth: () => queue.depth,
      active: () => this.#active,
      workers: options.concurrency ?? 1,
    });
    context.signal.addEventListener('abort', this.#close, { once: true });
    if (context.signal.aborted) this.#close();
  }

  /** Works until the signal; resolves when the last item has ended. `attempt` is 0, then one more for each failure in a row. */
  async run(work: (item: T, attempt: number) => Promise<Result> | Result): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.concurrency ?? 1 }, () => this.#takeItems(work)));
  }

  [Symbol.dispose](): void {
    this.#context.signal.removeEventListener('abort', this.#close);
    this.#gauges[Symbol.dispose]();
    this.#close();
  }

  async #takeItems(work: (item: T, attempt: number) => Promise<Result> | Result): Promise<void> {
    const { queue } = this;
    for (let item = await queue.take(); item !== undefined; item = await queue.take()) {
      if (!this.#context.isLeading()) {
        queue.done(item);
        queue.close();
        return;
      }
      const before = performance.now();
      this.#active++;
      const result = await this.#outcome(item, work);
      this.#active--;
      this.#metrics.ended(result.type, performance.now() - before);
      this.#settle(result, item);
      queue.done(item);
    }
  }

  /** Never rejects, whatever the work does. */
  async #outcome(item: T, work: (item: T, attempt: number) => Promise<Result> | Result): Promise<Result> {
    const { name, objectOf } = this.#options;
    const { tracer } = this.#context;
    try {
      const attempt = this.queue.failures(item);
      if (tracer === noTracer) return await work(item, attempt);
      const { cluster = '', namespace = '', name: object } = objectOf(item);
      const attributes = { controller: name, 'object.cluster': cluster, 'object.namespace': namespace, 'object.name': object, attempt };
      return await traced(tracer, { name: `reconcile ${name}`, attributes }, async () => work(item, attempt));
    } catch (error) {
      return resultOf(error, this.#subjectOf(item));
    }
  }

  #subjectOf(item: T): Subject | undefined {
    const { type, objectOf } = this.#options;
    return type && { type, key: objectOf(item) };
  }

  #settle(result: Result, item: T): void {
    const { queue } = this;
    if (result.type === 'error' || result.type === 'terminal') this.#report(result.error, item);
    if (result.type === 'error') {
      queue.addFailed(item);
      return;
    }
    queue.forget(item);
    if (result.type === 'requeueAfter') queue.addAfter(item, result.milliseconds);
  }

  #report(error: unknown, item: T): void {
    const { drop, onError } = this.#context;
    // Work that is dropped fails because it was aborted.
    if (!drop.aborted) onError(error, this.#options.objectOf(item));
  }
}
