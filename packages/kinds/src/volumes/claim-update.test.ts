import type { JsonObject, KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { contextOf } from '../testing/context.ts';
import { workloadStrategies } from '../workloads.ts';

const strategy = workloadStrategies.get('/persistentvolumeclaims')!;

const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } }, volumeMode: 'Filesystem' };

const claim = (more: JsonObject = {}, metadata: JsonObject = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'c', namespace: 'n', ...metadata },
  spec: { ...structuredClone(spec), ...more },
});

const refused = (now: KubeObject, before: KubeObject): string[] =>
  strategy.validateUpdate!(now, before, contextOf()).map(({ field }) => field);

describe('an unbound claim', () => {
  test('accepts new labels', () => {
    expect(refused(claim({}, { labels: { a: 'b' } }), claim())).toEqual([]);
    expect(refused(claim({ storageClassName: 'x' }, { labels: { a: 'b' } }), claim({ storageClassName: 'x' }))).toEqual([]);
  });

  test('can be bound to a volume, once', () => {
    expect(refused(claim({ volumeName: 'v' }), claim())).toEqual([]);
    expect(refused(claim({ volumeName: 'w' }), claim({ volumeName: 'v' }))).toEqual(['spec']);
  });

  test('accepts a storage class if it has none', () => {
    expect(refused(claim({ storageClassName: 'x' }), claim())).toEqual([]);
  });

  test('cannot request anything else', () => {
    expect(refused(claim({ accessModes: ['ReadWriteMany'] }), claim())).toEqual(['spec']);
  });
});
