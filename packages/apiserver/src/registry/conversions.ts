import { horizontalPodAutoscalerToV1, horizontalPodAutoscalerToV2, toCoreEvent, toEventsEvent } from '@capstan/kinds';
import type { Storage } from './resource.ts';

/** Resources that lie in the store in another version or group than the one they are served in, by `apiVersion/resource`. */
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
        // What was only tried is of this version still.
        applies: ({ text }) => !text.startsWith('{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v1",'),
      },
    },
  ],
]);
