import type { Metrics } from '@capstan/machinery';
import type { QueueObserver } from '../queue/work-queue.ts';
import type { Result } from './result.ts';

/** The loops of each name, per registry: a controller has one for each endpoint, and its gauges are their sums. */
const loops = new WeakMap<Metrics, Map<string, Set<LoopNumbers>>>();

interface LoopNumbers {
  readonly depth: () => number;
  readonly active: () => number;
  readonly workers: number;
}

/** Adds a loop to the gauges of its name, until it is disposed of. */
export function observeLoop(name: string, metrics: Metrics, loop: LoopNumbers): Disposable {
  const named = loops.get(metrics) ?? new Map<string, Set<LoopNumbers>>();
  loops.set(metrics, named);
  const known = named.get(name) ?? new Set<LoopNumbers>();
  if (!named.has(name)) {
    named.set(name, known);
    const sum = (numberOf: (one: LoopNumbers) => number) => () => [...known].reduce((total, one) => total + numberOf(one), 0);
    const labels = { controller: name };
    metrics.gauge('workqueue_depth', 'Objects that wait.', { labels: { name }, read: sum(({ depth }) => depth()) });
    metrics.gauge('controller_runtime_active_workers', 'Workers that reconcile now.', { labels, read: sum(({ active }) => active()) });
    metrics.gauge('controller_runtime_max_concurrent_reconciles', 'Workers.', { labels, read: sum(({ workers }) => workers) });
  }
  known.add(loop);
  return { [Symbol.dispose]: () => void known.delete(loop) };
}

/** Counts what a queue does, under the names that dashboards for Kubernetes controllers know. */
export function observeQueue(name: string, metrics: Metrics): QueueObserver {
  const labels = { name };
  const adds = metrics.counter('workqueue_adds_total', 'Objects added to the queue.', labels);
  const retries = metrics.counter('workqueue_retries_total', 'Objects added again after a failure.', labels);
  const waited = metrics.histogram('workqueue_queue_duration_seconds', 'How long objects waited.', { labels });
  const worked = metrics.histogram('workqueue_work_duration_seconds', 'How long objects were worked on.', { labels });
  return {
    added: () => adds.increment(),
    retried: () => retries.increment(),
    taken: (milliseconds) => waited.observe(milliseconds / 1000),
    finished: (milliseconds) => worked.observe(milliseconds / 1000),
  };
}

export interface ReconcileMetrics {
  ended(result: Result['type'], milliseconds: number): void;
}

export function reconcileMetrics(name: string, metrics: Metrics): ReconcileMetrics {
  const count = (result: string) =>
    metrics.counter('controller_runtime_reconcile_total', 'Reconciles by how they ended.', { controller: name, result });
  const ended = { done: count('success'), requeueAfter: count('requeue_after'), error: count('error'), terminal: count('terminal') };
  const time = metrics.histogram('controller_runtime_reconcile_time_seconds', 'How long reconciles took.', {
    labels: { controller: name },
  });
  return {
    ended(result, milliseconds) {
      ended[result].increment();
      time.observe(milliseconds / 1000);
    },
  };
}
