import type { KubeObject } from '@capstan/machinery';
import { array, assert, constant, integer, oneof, property, record } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { horizontalPodAutoscalerToV1, horizontalPodAutoscalerToV2, settleCurrentMetrics } from './autoscaling-versions.ts';

const selector = constant({ matchLabels: { a: 'b' } });
const amount = integer({ min: 1 }).map((number) => `${number}m`);
const described = constant({ apiVersion: 'v1', kind: 'Service', name: 's' });

const metric = oneof(
  record({
    type: constant('Resource'),
    resource: record({ name: constant('memory'), target: record({ type: constant('AverageValue'), averageValue: amount }) }),
  }),
  record({
    type: constant('Pods'),
    pods: record({
      metric: record({ name: constant('qps'), selector }),
      target: record({ type: constant('AverageValue'), averageValue: amount }),
    }),
  }),
  record({
    type: constant('External'),
    external: record({ metric: record({ name: constant('depth') }), target: record({ type: constant('Value'), value: amount }) }),
  }),
  record({
    type: constant('Object'),
    object: record({
      describedObject: described,
      metric: record({ name: constant('hits') }),
      target: record({ type: constant('Value'), value: amount }),
    }),
  }),
  record({
    type: constant('ContainerResource'),
    containerResource: record({
      name: constant('cpu'),
      container: constant('a'),
      target: record({ type: constant('Utilization'), averageUtilization: integer({ min: 1, max: 100 }) }),
    }),
  }),
);

const cpu = integer({ min: 1, max: 100 }).map((averageUtilization) => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
}));

function autoscaler(metrics: unknown[], more: object = {}): KubeObject {
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'a' },
    spec: { minReplicas: 1, maxReplicas: 2, scaleTargetRef: { kind: 'Deployment', name: 'web', apiVersion: 'apps/v1' }, metrics, ...more },
    status: { desiredReplicas: 0, currentMetrics: null },
  };
}

describe('conversion of autoscalers', () => {
  test('loses nothing in a round trip through v1', () => {
    assert(
      property(array(metric, { maxLength: 4 }), cpu, (metrics, last) => {
        const original = autoscaler([...metrics, last], {
          behavior: { scaleUp: { selectPolicy: 'Max', policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }] } },
        });
        expect(horizontalPodAutoscalerToV2(horizontalPodAutoscalerToV1(original))).toEqual(original);
      }),
    );
  });

  test('shows the CPU utilization as a number in v1 and the rest in annotations', () => {
    const external = { type: 'External', external: { metric: { name: 'depth' }, target: { type: 'Value', value: '30' } } };
    const old = horizontalPodAutoscalerToV1(
      autoscaler([external, { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } }]),
    );
    expect(old['spec']).toMatchObject({ targetCPUUtilizationPercentage: 60 });
    expect(old.metadata.annotations).toEqual({
      'autoscaling.alpha.kubernetes.io/metrics': '[{"type":"External","external":{"metricName":"depth","targetValue":"30"}}]',
    });
  });

  test('ignores annotations that are not valid JSON', () => {
    const broken = {
      ...autoscaler([]),
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'a', annotations: { 'autoscaling.alpha.kubernetes.io/metrics': '{' } },
    };
    expect(horizontalPodAutoscalerToV2(broken)['spec']).toMatchObject({ metrics: [{ type: 'Resource', resource: { name: 'cpu' } }] });
  });

  test('prefers the current-metrics annotation of v1 over the status, and adds it if missing', () => {
    const annotation = 'autoscaling.alpha.kubernetes.io/current-metrics';
    const older: KubeObject = { ...autoscaler([]), apiVersion: 'autoscaling/v1', status: { currentCPUUtilizationPercentage: 5 } };
    settleCurrentMetrics(older);
    const text = '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":5,"currentAverageValue":"0"}}]';
    expect(older.metadata.annotations).toEqual({ [annotation]: text });
    older['status'] = { currentCPUUtilizationPercentage: 7 };
    settleCurrentMetrics(older);
    expect(older['status']).toEqual({ currentCPUUtilizationPercentage: 5 });
  });
});
