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

describe('fields that are not served yet', () => {
  test('are dropped from new objects', () => {
    expect(dropped('/nodes', { spec: { configSource: {}, unschedulable: true } })).toEqual({ spec: { unschedulable: true } });
    const device = { name: 'd', taints: [{ key: 'a' }], capacity: { m: { value: '1', requestPolicy: {} } } };
    expect(dropped('resource.k8s.io/resourceslices', { spec: { devices: [device] } })).toEqual({
      spec: { devices: [{ name: 'd', capacity: { m: { value: '1' } } }] },
    });
  });

  test('are kept where the stored object has them', () => {
    const spec = { spec: { configSource: { configMap: {} } } };
    expect(dropped('/nodes', spec, spec)).toEqual(spec);
    expect(dropped('/nodes', spec, { spec: {} })).toEqual({ spec: {} });
  });

  test('are dropped wherever a pod is described', () => {
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

  test('take their mounts along', () => {
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

  test('are nothing for other kinds', () => {
    expect(dropped('/configmaps', { spec: { configSource: {} } })).toEqual({ spec: { configSource: {} } });
  });
});
