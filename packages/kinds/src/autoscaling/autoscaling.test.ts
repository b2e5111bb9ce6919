import type { JsonObject, KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { contextOf } from '../testing/context.ts';
import { workloadStrategies } from '../workloads.ts';

const strategy = workloadStrategies.get('autoscaling/horizontalpodautoscalers')!;

const scaling = (scaleTargetRef: JsonObject): KubeObject => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'a', namespace: 'n' },
  spec: { maxReplicas: 2, scaleTargetRef: { name: 'x', ...scaleTargetRef } },
});

const refused = (object: KubeObject, old?: KubeObject): string[] =>
  [
    ...strategy.validate!(object, contextOf()),
    ...(old === undefined ? strategy.validateCreate!(object, contextOf()) : strategy.validateUpdate!(object, old, contextOf())),
  ].map((error) => `${error.field}: ${error.body}`);

const withoutGroup = 'spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group';

describe('scaleTargetRef', () => {
  test('requires an API group', () => {
    expect(refused(scaling({ kind: 'Deployment', apiVersion: 'apps/v1' }))).toEqual([]);
    expect(refused(scaling({ kind: 'Deployment', apiVersion: 'v1' }))).toEqual([withoutGroup]);
    expect(refused(scaling({ kind: 'Deployment', apiVersion: '/v1' }))).toEqual([withoutGroup.replace('v1', '/v1')]);
    expect(refused(scaling({ kind: 'Deployment', apiVersion: 'a/b/c' }))).toEqual([
      'spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    ]);
  });

  test('needs no group for a replication controller', () => {
    expect(refused(scaling({ kind: 'ReplicationController', apiVersion: 'v1' }))).toEqual([]);
    expect(refused(scaling({ kind: 'ReplicationController' }))).toEqual([]);
  });

  test('may keep an invalid value, but not change to another one', () => {
    const old = scaling({ kind: 'Deployment', apiVersion: 'v1' });
    expect(refused(structuredClone(old), old)).toEqual([]);
    expect(refused(scaling({ kind: 'ReplicaSet', apiVersion: 'v1' }), old)).toEqual([withoutGroup]);
  });
});
