import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { contextOf } from '../testing/context.ts';
import { workloadStrategies } from '../workloads.ts';

const pods = workloadStrategies.get('/pods')!;
const resources = { requests: { cpu: '1' }, limits: { cpu: '2' } };

function podOf(containers: object[], more: object = {}, metadata: object = {}): KubeObject {
  const pod: KubeObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'n', generation: 1, ...metadata },
    spec: { containers: structuredClone(containers), ...structuredClone(more) },
  };
  pods.default!(pod);
  return pod;
}

const one = (more: object = {}) => ({ name: 'a', image: 'x', resources, ...more });

function resize(pod: KubeObject, old = podOf([one()])): string[] {
  const { prepareForUpdate, validateUpdate } = pods.subresources!['resize']!;
  prepareForUpdate!(pod, old, contextOf());
  return validateUpdate!(pod, old, contextOf()).map(({ field, body }) => `${field}: ${body}`);
}

describe('resizing a pod', () => {
  test('changes cpu and memory, and nothing else', () => {
    const pod = podOf([one({ image: 'y', resources: { requests: { cpu: '500m' }, limits: { cpu: '3' } } })], {}, { labels: { a: 'b' } });
    expect(resize(pod)).toEqual([]);
    expect(pod['spec']).toMatchObject({ containers: [{ image: 'x', resources: { requests: { cpu: '500m' }, limits: { cpu: '3' } } }] });
    expect(pod.metadata).toMatchObject({ generation: 2 });
    expect(pod.metadata.labels).toBeUndefined();
  });

  test.each<[string, object[], string[]]>([
    [
      'an added container',
      [one(), { name: 'b', image: 'x' }],
      ['spec.containers: Forbidden: containers may not be added or removed on resize'],
    ],
    [
      'a renamed container',
      [one({ name: 'b' })],
      ['spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize'],
    ],
    [
      'a removed limit',
      [one({ resources: { requests: { cpu: '1' } } })],
      ['spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed'],
    ],
    [
      'a change of another resource',
      [one({ resources: { requests: { ...resources.requests, 'ephemeral-storage': '1Gi' }, limits: resources.limits } })],
      ['spec: Forbidden: only cpu and memory resources are mutable'],
    ],
    [
      'a changed resize policy',
      [one({ resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] })],
      ['spec: Forbidden: only cpu and memory resources are mutable'],
    ],
    [
      'a changed quality of service',
      [one({ resources: { requests: { cpu: '2', memory: '1' }, limits: { cpu: '2', memory: '1' } } })],
      ['spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing'],
    ],
  ])('is rejected with %s', (_, containers, errors) => {
    expect(resize(podOf(containers))).toEqual(errors);
  });

  test('is rejected for init containers that are not sidecars', () => {
    const begin = (cpu: string) => ({ initContainers: [{ name: 'i', image: 'x', resources: { requests: { cpu } } }] });
    expect(resize(podOf([one()], begin('2')), podOf([one()], begin('1')))).toEqual([
      'spec: Forbidden: resources for non-sidecar init containers are immutable',
    ]);
  });

  test.each<[string, object, object, object]>([
    ['pods with pod-level resources', { resources: { requests: { cpu: '1' } } }, {}, {}],
    ['static pods', {}, { annotations: { 'kubernetes.io/config.mirror': 'x' } }, {}],
    ['windows pods', { os: { name: 'windows' } }, {}, {}],
  ])('is rejected for %s', (what, spec, metadata) => {
    expect(resize(podOf([one()], spec), podOf([one()], spec, metadata))).toEqual([`[]: Forbidden: ${what} cannot be resized`]);
  });

  test('is rejected if the node does not support it', () => {
    const old = podOf([one()]);
    old['status'] = { containerStatuses: [{ name: 'a', state: { running: {} } }] };
    expect(resize(podOf([one()]), old)).toEqual(['spec: Forbidden: Pod running on node without support for resize']);
  });
});
