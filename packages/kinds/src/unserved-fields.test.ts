import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { dropUnserved } from './unserved-fields.ts';

function dropped(resource: string, body: object, old?: object): object {
  const { metadata: _, ...rest } = dropWith(resource, { metadata: {}, ...body }, old);
  return rest;
}

function dropWith(key: string, object: object, old?: object): KubeObject {
  const [group = '', resource = ''] = key.split('/');
  const copy = structuredClone(object) as KubeObject;
  dropUnserved({ group, resource }, copy, old === undefined ? undefined : ({ metadata: {}, ...old } as KubeObject));
  return copy;
}

describe('unserved fields', () => {
  test('are dropped from new objects', () => {
    expect(dropped('/nodes', { spec: { configSource: {}, unschedulable: true } })).toEqual({ spec: { unschedulable: true } });
    const device = { name: 'd', taints: [{ key: 'a' }], capacity: { m: { value: '1', requestPolicy: {} } } };
    expect(dropped('resource.k8s.io/resourceslices', { spec: { devices: [device] } })).toEqual({
      spec: { devices: [{ name: 'd', capacity: { m: { value: '1' } } }] },
    });
  });

  test('are kept if the stored object has them', () => {
    const spec = { spec: { configSource: { configMap: {} } } };
    expect(dropped('/nodes', spec, spec)).toEqual(spec);
    expect(dropped('/nodes', spec, { spec: {} })).toEqual({ spec: {} });
  });

  test('are dropped from every pod template', () => {
    const pod = {
      hostnameOverride: 'x',
      containers: [{ name: 'c', restartPolicy: 'Never' }],
      initContainers: [{ restartPolicy: 'Always' }],
    };
    const kept = { containers: [{ name: 'c' }], initContainers: [{ restartPolicy: 'Always' }] };
    expect(dropped('/pods', { spec: pod })).toEqual({ spec: kept });
    expect(dropped('batch/cronjobs', { spec: { jobTemplate: { spec: { template: { spec: pod } } } } })).toEqual({
      spec: { jobTemplate: { spec: { template: { spec: kept } } } },
    });
  });

  test('are dropped with their mounts', () => {
    const pod = {
      volumes: [
        { name: 'i', image: {} },
        { name: 'e', emptyDir: {} },
      ],
      containers: [{ volumeMounts: [{ name: 'i' }, { name: 'e' }] }],
    };
    expect(dropped('/pods', { spec: pod })).toEqual({
      spec: { volumes: [{ name: 'e', emptyDir: {} }], containers: [{ volumeMounts: [{ name: 'e' }] }] },
    });
  });

  test('are kept in other kinds', () => {
    expect(dropped('/configmaps', { spec: { configSource: {} } })).toEqual({ spec: { configSource: {} } });
  });
});
