import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../json.ts';
import { parseQuantity } from '../quantity/quantity.ts';
import { addAmounts, printAmounts, readAmounts, sameAmounts, writeAmounts } from './amounts.ts';
import { measureOf, printSource, quotaSource } from './sources.ts';

const now = new Date('2026-01-01T00:00:00Z');
const object = (fields: object, metadata: KubeObject['metadata'] = {}): KubeObject =>
  ({ apiVersion: 'v1', kind: 'Any', metadata, ...fields }) as KubeObject;
const usage = (source: string, one: KubeObject): string => printAmounts(measureOf(quotaSource(`count/${source}`)!).usage(one, now));
const container = (name: string, requests: object = {}, limits: object = {}): object => ({ name, resources: { requests, limits } });

describe('resources that quotas limit', () => {
  it.each([
    ['pods', 'pods'],
    ['count/pods', 'pods'],
    ['cpu', 'pods'],
    ['requests.memory', 'pods'],
    ['limits.ephemeral-storage', 'pods'],
    ['hugepages-2Mi', 'pods'],
    ['requests.hugepages-2Mi', 'pods'],
    ['requests.example.com/gpu', 'pods'],
    ['services.nodeports', 'services'],
    ['requests.storage', 'persistentvolumeclaims'],
    ['gold.storageclass.storage.k8s.io/requests.storage', 'persistentvolumeclaims'],
    ['gold.storageclass.storage.k8s.io/persistentvolumeclaims', 'persistentvolumeclaims'],
    ['gpu.deviceclass.resource.k8s.io/devices', 'resourceclaims.resource.k8s.io'],
    ['configmaps', 'configmaps'],
    ['count/deployments.apps', 'deployments.apps'],
    ['count/widgets.example.com', 'widgets.example.com'],
  ])('%s is used by %s', (name, source) => {
    expect(printSource(quotaSource(name)!)).toBe(source);
  });

  it.each(['requests.kubernetes.io/x', 'example.com/gpu', 'gold.storageclass.storage.k8s.io/x', 'constructor'])(
    '%s is used by nothing',
    (name) => {
      expect(quotaSource(name)).toBeUndefined();
    },
  );
});

describe('usage', () => {
  it('of most kinds is their number, under one name or two', () => {
    expect(usage('configmaps', object({}))).toBe('configmaps=1,count/configmaps=1');
    expect(usage('widgets.example.com', object({}))).toBe('count/widgets.example.com=1');
  });

  it('of a pod is the sum of its containers or its largest init container, plus its overhead', () => {
    const spec = {
      containers: [
        container('a', { cpu: '100m', 'example.com/gpu': '1' }, { cpu: '1' }),
        container('b', { cpu: '200m' }, { memory: '1Gi' }),
      ],
      initContainers: [container('first', { cpu: '1' }), { ...container('beside', { cpu: '50m' }), restartPolicy: 'Always' }],
      overhead: { cpu: '10m', memory: '1Mi' },
    };
    expect(usage('pods', object({ spec }))).toBe(
      'count/pods=1,cpu=1010m,limits.cpu=1010m,limits.memory=1025Mi,memory=1Mi,pods=1,requests.cpu=1010m,requests.example.com/gpu=1,requests.memory=1Mi',
    );
  });

  it('of a pod that shrinks is what it still holds', () => {
    const spec = { containers: [container('a', { cpu: '100m' })] };
    const held = { containerStatuses: [{ name: 'a', resources: { requests: { cpu: '200m' } }, allocatedResources: { cpu: '300m' } }] };
    expect(usage('pods', object({ spec, status: held }))).toBe('count/pods=1,cpu=300m,pods=1,requests.cpu=300m');
  });

  it.each<[string, object, KubeObject['metadata']]>([
    ['succeeded', { status: { phase: 'Succeeded' } }, {}],
    ['failed', { status: { phase: 'Failed' } }, {}],
    ['has outlived its grace period', {}, { deletionTimestamp: '2025-12-31T23:59:00Z', deletionGracePeriodSeconds: 30 }],
  ])('of a pod that %s is only its count', (_, fields, metadata) => {
    expect(usage('pods', object({ spec: { containers: [container('a', { cpu: '1' })] }, ...fields }, metadata))).toBe('count/pods=1');
  });

  it('of a service is its node ports', () => {
    const service = (spec: object): string => usage('services', object({ spec }));
    const ports = [{ port: 1 }, { port: 2, nodePort: 30_000 }];
    expect(service({ type: 'NodePort', ports })).toBe('count/services=1,services=1,services.loadbalancers=0,services.nodeports=2');
    expect(service({ type: 'LoadBalancer', ports, allocateLoadBalancerNodePorts: false })).toBe(
      'count/services=1,services=1,services.loadbalancers=1,services.nodeports=1',
    );
    expect(service({ type: 'ClusterIP', ports })).toBe('count/services=1,services=1,services.loadbalancers=0,services.nodeports=0');
  });

  it('of a claim is its storage in whole bytes, in total and for its class', () => {
    const spec = { storageClassName: 'gold', resources: { requests: { storage: '1500m' } } };
    expect(usage('persistentvolumeclaims', object({ spec }))).toBe(
      'count/persistentvolumeclaims=1,gold.storageclass.storage.k8s.io/persistentvolumeclaims=1,gold.storageclass.storage.k8s.io/requests.storage=2,persistentvolumeclaims=1,requests.storage=2',
    );
    const larger = { spec: { resources: { requests: { storage: '1Gi' } } }, status: { allocatedResources: { storage: '2Gi' } } };
    expect(usage('persistentvolumeclaims', object(larger))).toBe(
      'count/persistentvolumeclaims=1,persistentvolumeclaims=1,requests.storage=2Gi',
    );
  });

  it('of a device claim is the most that it can get of each class', () => {
    const one = { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 2 };
    const requests = [
      { exactly: one },
      { firstAvailable: [one, { ...one, count: 3 }] },
      { exactly: { deviceClassName: 'nic', allocationMode: 'All' } },
    ];
    expect(usage('resourceclaims.resource.k8s.io', object({ spec: { devices: { requests } } }))).toBe(
      'count/resourceclaims.resource.k8s.io=1,gpu.deviceclass.resource.k8s.io/devices=5,nic.deviceclass.resource.k8s.io/devices=32',
    );
  });
});

describe('scopes', () => {
  const pods = measureOf({ group: '', resource: 'pods' });
  const bare = object({ spec: { containers: [{ name: 'a' }] } });
  const rich = object({
    spec: {
      containers: [container('a', { cpu: '1' })],
      activeDeadlineSeconds: 0,
      priorityClassName: 'high',
      affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm: { namespaceSelector: {} } }] } },
    },
  });
  it.each([
    ['Terminating', 'Exists', undefined, [false, true]],
    ['NotTerminating', 'Exists', undefined, [true, false]],
    ['BestEffort', 'Exists', undefined, [true, false]],
    ['NotBestEffort', 'Exists', undefined, [false, true]],
    ['CrossNamespacePodAffinity', 'Exists', undefined, [false, true]],
    ['PriorityClass', 'Exists', undefined, [false, true]],
    ['PriorityClass', 'DoesNotExist', undefined, [true, false]],
    ['PriorityClass', 'In', ['high'], [false, true]],
    ['PriorityClass', 'In', ['low'], [false, false]],
    ['PriorityClass', 'NotIn', ['high'], [true, false]],
    ['VolumeAttributesClass', 'Exists', undefined, [false, false]],
  ] as const)('%s %s %s matches a bare pod and a rich one: %s', (scopeName, operator, values, holds) => {
    const scope = { scopeName, operator, ...(values && { values }) };
    expect([pods.isInScope(scope, bare), pods.isInScope(scope, rich)]).toEqual(holds);
  });

  it('follow a claim from one class to another', () => {
    const claims = measureOf({ group: '', resource: 'persistentvolumeclaims' });
    const inGold = { scopeName: 'VolumeAttributesClass', operator: 'In', values: ['gold'] };
    const gold = object({ spec: { volumeAttributesClassName: 'gold' } });
    const moving = object({ spec: { volumeAttributesClassName: 'silver' }, status: { currentVolumeAttributesClassName: 'gold' } });
    const silver = object({ spec: { volumeAttributesClassName: 'silver' }, status: { currentVolumeAttributesClassName: 'silver' } });
    expect([gold, moving, silver].map((claim) => claims.isInScope(inGold, claim))).toEqual([true, true, false]);
    expect(new Set([gold, moving, silver].map((claim) => claims.scopeKey!(claim))).size).toBe(3);
  });

  it('match nothing but pods and claims', () => {
    expect(measureOf({ group: '', resource: 'secrets' }).isInScope({ scopeName: 'NotTerminating', operator: 'Exists' }, bare)).toBe(false);
  });

  it('require pods to specify what is limited', () => {
    const limited = new Set(['limits.cpu', 'memory', 'requests.cpu', 'pods', 'requests.example.com/gpu']);
    const pod = object({ spec: { containers: [container('z', { cpu: '1' }), container('a', {}, { cpu: '1' })] } });
    expect(pods.missing!(limited, pod)).toBe('must specify limits.cpu for: z; memory for: a,z; requests.cpu for: a');
    expect(pods.missing!(limited, object({ spec: { containers: [{ name: 'a' }], resources: { limits: { cpu: '1' } } } }))).toBeUndefined();
    expect(pods.missing!(new Set(['pods']), pod)).toBeUndefined();
  });
});

it('amounts round-trip, and add up in any order', () => {
  const amounts = fc.dictionary(
    fc.constantFrom('cpu', 'memory', 'pods', '__proto__x'),
    fc.constantFrom('0', '500m', '1Gi', '3', '2k', '7Mi'),
  );
  fc.assert(
    fc.property(amounts, amounts, (one, other) => {
      const forth = readAmounts(one);
      addAmounts(forth, readAmounts(other));
      const back = readAmounts(other);
      addAmounts(back, readAmounts(one));
      expect(sameAmounts(forth, back)).toBe(true);
      expect(sameAmounts(readAmounts(writeAmounts(forth)), forth)).toBe(true);
      expect(sameAmounts(forth, new Map([...forth, ['more', parseQuantity('1')]]))).toBe(false);
    }),
  );
});
