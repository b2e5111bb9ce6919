import { horizontalPodAutoscalerToV1, horizontalPodAutoscalerToV2, toCoreEvent, toEventsEvent } from '@capstan/kinds';
import type { Storage } from './resource.ts';

/** Resources stored in another version or group than the served one, by `apiVersion/resource`. */
export const conversions: ReadonlyMap<string, Storage> = new Map<string, Storage>([
  [
    'events.k8s.io/v1/events',
    { group: '', resource: 'events', apiVersion: 'v1', kind: 'Event', convert: { toStorage: toCoreEvent, fromStorage: toEventsEvent } },
  ],
  [
    'autoscaling/v1/horizontalpodautoscalers',
    {
      group: 'autoscaling',
      resource: 'horizontalpodautoscalers',
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      convert: {
        toStorage: horizontalPodAutoscalerToV2,
        fromStorage: horizontalPodAutoscalerToV1,
        // The result of a dry run still has this version.
        applies: ({ text }) => !text.startsWith('{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v1",'),
      },
    },
  ],
]);
