import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { contextOf } from '../testing/context.ts';
import { workloadStrategies } from '../workloads.ts';

function problems(resource: string, given: Omit<KubeObject, 'apiVersion' | 'kind'>): string[] {
  const object = { apiVersion: 'v1', kind: '', ...given } as KubeObject;
  const strategy = workloadStrategies.get(resource)!;
  strategy.default?.(object);
  return (strategy.validate?.(object, contextOf()) ?? []).map(({ field, body }) => `${field}: ${body}`);
}

const inPod = (volume: object): string[] =>
  problems('/pods', { metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: 'b' }], volumes: [{ name: 'v', ...volume }] } });
const persistent = (source: object): string[] =>
  problems('/persistentvolumes', {
    metadata: { name: 'v' },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], ...source },
  });

describe('a volume of a pod', () => {
  const at = 'spec.volumes[0]';
  test.each([
    [
      { gitRepo: { directory: '/x' } },
      [`${at}.gitRepo.repository: Required value`, `${at}.gitRepo.directory: Invalid value: "/x": must be a relative path`],
    ],
    [
      { gcePersistentDisk: { partition: 256 } },
      [
        `${at}.persistentDisk.pdName: Required value`,
        `${at}.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive`,
      ],
    ],
    [{ cephfs: {}, emptyDir: {} }, [`${at}.cephFS: Forbidden: may not specify more than 1 volume type`]],
    [
      { csi: { driver: 'd', nodePublishSecretRef: { name: 'A' } } },
      [expect.stringMatching(/^spec\.volumes\[0\]\.csi\.name: Invalid value: "A": a lowercase RFC 1123 subdomain/)],
    ],
    [{ fc: { targetWWNs: ['a'] } }, [`${at}.fc.lun: Required value: lun is required if targetWWNs is specified`]],
    [{ flocker: {} }, [`${at}.flocker: Required value: one of datasetName and datasetUUID is required`]],
    [
      { iscsi: { targetPortal: 'a', iqn: 'x', chapAuthSession: true } },
      [`${at}.iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa`, `${at}.iscsi.secretRef: Required value`],
    ],
    [
      { azureDisk: { diskName: 'd', diskURI: 'x', kind: 'Managed' } },
      [expect.stringContaining('diskURI: Unsupported value: "x": supported values: "/subscriptions/')],
    ],
    [
      { quobyte: { registry: 'x', volume: 'v' } },
      [`${at}.quobyte.registry: Invalid value: "x": must be a host:port pair or multiple pairs separated by commas`],
    ],
    [
      { flexVolume: { driver: 'a/b', options: { 'kubernetes.io/x': 'y' } } },
      [`${at}.flexVolume.options[kubernetes.io/x]: Invalid value: "kubernetes.io/x": kubernetes.io and k8s.io namespaces are reserved`],
    ],
    [
      {
        projected: {
          sources: [
            { secret: { name: 's', items: [{ key: 'k', path: 'f' }] } },
            { configMap: { name: 'c', items: [{ key: 'k', path: 'f' }] } },
          ],
        },
      },
      [`${at}.projected: Invalid value: "c": conflicting duplicate paths`],
    ],
    [
      { downwardAPI: { items: [{ path: '..', fieldRef: { fieldPath: 'metadata.name' } }] } },
      [
        `${at}.downwardAPI.path: Invalid value: "..": must not contain '..'`,
        `${at}.downwardAPI.path: Invalid value: "..": must not start with '..'`,
      ],
    ],
  ])('%j', (volume, expected) => {
    expect(inPod(volume)).toEqual(expected);
  });
});

describe('a persistent volume', () => {
  test('needs the namespaces of its secrets', () => {
    expect(persistent({ csi: { driver: 'd', volumeHandle: 'h', nodePublishSecretRef: { name: 'a' } } })).toEqual([
      'spec.csi.nodePublishSecretRef.namespace: Required value',
    ]);
  });

  test('gets a shorter message for an invalid initiator', () => {
    expect(persistent({ iscsi: { targetPortal: 'a', iqn: 'x' } })).toEqual(['spec.iscsi.iqn: Invalid value: "x": must be valid format']);
  });
});
