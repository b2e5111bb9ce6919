import type { KubeEvent } from '../kube/core-kinds.ts';

/** An object that events are about. */
export interface EventObject {
  readonly kind: string;
  readonly name: string;
}

export interface EventRow {
  readonly id: string;
  /** `Pod train`. */
  readonly about: string;
  readonly isWarning: boolean;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly at: string;
}

/** Events in both forms of Kubernetes, the newest first. */
export function rowsOf(events: readonly KubeEvent[]): readonly EventRow[] {
  return events
    .map((event) => ({
      id: event.metadata.uid ?? event.metadata.name ?? '',
      about: `${event.involvedObject?.kind ?? ''} ${event.involvedObject?.name ?? ''}`.trim(),
      isWarning: event.type === 'Warning',
      reason: event.reason ?? '',
      message: event.message ?? '',
      count: event.series?.count ?? event.count ?? 1,
      at:
        event.series?.lastObservedTime ??
        event.lastTimestamp ??
        event.eventTime ??
        event.firstTimestamp ??
        event.metadata.creationTimestamp ??
        '',
    }))
    .sort((one, other) => other.at.localeCompare(one.at));
}

/** Each of them is a list of its own. */
const mostObjects = 60;

/** One selector for the events of each object, without repetitions. */
export const selectorsOf = (objects: readonly EventObject[]): readonly string[] =>
  [...new Set(objects.map(({ kind, name }) => `involvedObject.kind=${kind},involvedObject.name=${name}`))].slice(0, mostObjects);
