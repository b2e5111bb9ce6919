import type { JsonObject, KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { contextOf } from '../testing/context.ts';
import { workloadStrategies } from '../workloads.ts';

const strategy = workloadStrategies.get('/persistentvolumeclaims')!;
const snapshot = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' };

function claim(sources: JsonObject): KubeObject {
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeMode: 'Filesystem', ...sources };
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'c', namespace: 'n' }, spec };
}

const problems = (sources: JsonObject): string[] => {
  const object = claim(sources);
  return [...strategy.validate!(object, contextOf()), ...strategy.validateCreate!(object, contextOf())].map(
    ({ field, body }) => `${field}: ${body}`,
  );
};

describe('the data source of a claim', () => {
  test('is the same in both fields', () => {
    expect(problems({ dataSource: snapshot, dataSourceRef: snapshot })).toEqual([]);
    expect(problems({ dataSource: snapshot, dataSourceRef: { ...snapshot, name: 't' } })).toEqual([
      'spec: Invalid value: {}: must match dataSourceRef',
    ]);
    expect(problems({ dataSource: snapshot, dataSourceRef: { ...snapshot, namespace: 'm' } })).toEqual([
      'spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified',
    ]);
  });

  test('needs a valid group in new claims', () => {
    expect(problems({ dataSourceRef: { ...snapshot, apiGroup: 'a/b' } })).toEqual([
      expect.stringMatching(/^spec\.dataSourceRef\.apiGroup: Invalid value: "a\/b": a lowercase RFC 1123 subdomain/),
    ]);
  });

  test('is dropped if unsupported, also in updates', () => {
    const changed = claim({ dataSource: { kind: 'Other', name: 'o', apiGroup: 'g' } });
    strategy.prepareForUpdate!(changed, claim({}), contextOf());
    expect(changed['spec']).toEqual(claim({})['spec']);
  });
});
