import type { KubeEvent } from '../kube/core-kinds.ts';

export interface EventRow {
  readonly id: string;
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
