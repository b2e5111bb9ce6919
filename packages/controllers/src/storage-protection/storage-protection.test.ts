import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gone, startTestCluster, type TestCluster } from '../suite/cluster.ts';
import { claimProtection } from './claims/controller.ts';
import { type Claim, classesOfClaim, type Pod, podUses } from './usage.ts';
import { volumeClassProtection } from './volume-classes/controller.ts';
import { volumeProtection } from './volumes/controller.ts';

const type = (resource: string, namespaced: boolean, group = '') => ({ group, version: 'v1', resource, namespaced });
const settings = { concurrency: undefined };
let cluster: TestCluster;
let running: AsyncDisposable;

beforeAll(async () => {
  cluster = await startTestCluster();
  running = cluster.run(claimProtection(settings), volumeProtection(settings), volumeClassProtection(settings));
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const claims = () => cluster.client.resource(type('persistentvolumeclaims', true)).in('default');
const volumes = () => cluster.client.resource(type('persistentvolumes', false));
const classes = () => cluster.client.resource(type('volumeattributesclasses', false, 'storage.k8s.io'));
const pods = () => cluster.client.resource(type('pods', true)).in('default');

const claim = (name: string, spec: object = {}): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  }) as KubeObject;

const pod = (name: string, claimName: string, nodeName: string): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      nodeName,
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
    },
  }) as KubeObject;

test('releases an unused claim at once', async () => {
  const made = await claims().create(claim('free'));
  expect(made.metadata.finalizers).toEqual(['kubernetes.io/pvc-protection']);
  await claims().delete('free');
  await gone(claims(), 'free');
});

test('releases a used claim with its pod', async () => {
  await claims().create(claim('used'));
  await pods().create(pod('user', 'used', 'node'));
  await claims().delete('used');
  await claims().create(claim('later'));
  await claims().delete('later');
  await gone(claims(), 'later');
  expect((await claims().get('used')).metadata.deletionTimestamp).toBeDefined();
  await pods().delete('user', { gracePeriodSeconds: 0 });
  await gone(claims(), 'used');
});

test('releases a volume once it is not bound', async () => {
  const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } };
  const make = (name: string): Promise<KubeObject> =>
    volumes().create({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec } as KubeObject);
  expect((await make('bound')).metadata.finalizers).toEqual(['kubernetes.io/pv-protection']);
  const says = (phase: string): Promise<KubeObject> =>
    volumes().patch('bound', { type: 'merge', patch: { status: { phase } } }, { subresource: 'status' });
  await says('Bound');
  await volumes().delete('bound');
  await make('free');
  await volumes().delete('free');
  await gone(volumes(), 'free');
  expect((await volumes().get('bound')).metadata.deletionTimestamp).toBeDefined();
  await says('Released');
  await gone(volumes(), 'bound');
});

test('releases a class of volume attributes once no claim names it', async () => {
  await classes().create({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttributesClass',
    metadata: { name: 'gold' },
    driverName: 'd.example.com',
    parameters: { a: 'b' },
  } as KubeObject);
  await claims().create(claim('golden', { volumeAttributesClassName: 'gold' }));
  await classes().delete('gold');
  expect((await classes().get('gold')).metadata.finalizers).toEqual(['kubernetes.io/vac-protection']);
  await claims().delete('golden');
  await gone(classes(), 'gold');
});

test('a claim is used by pods with a node, and by the pod that it was created for', () => {
  const made = (more: object): Claim =>
    ({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'p-v', namespace: 'n', ...more } }) as Claim;
  const using = pod('p', 'p-v', 'node') as Pod;
  expect(podUses(using, made({}))).toBe(true);
  expect(podUses(pod('p', 'p-v', '') as Pod, made({}))).toBe(false);
  expect(podUses(pod('p', 'other', 'node') as Pod, made({}))).toBe(false);
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true };
  const own: Pod = { ...using, metadata: { name: 'p', uid: 'u' }, spec: { nodeName: 'node', volumes: [{ name: 'v', ephemeral: {} }] } };
  expect(podUses(own, made({ ownerReferences: [owner] }))).toBe(true);
  expect(podUses(own, made({}))).toBe(false);
  const ended = { ...own.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 };
  expect(podUses({ ...own, metadata: ended }, made({ ownerReferences: [owner] }))).toBe(false);
});

test('a claim uses the classes that it has, had and is to get', () => {
  const status = { currentVolumeAttributesClassName: 'b', modifyVolumeStatus: { targetVolumeAttributesClassName: 'c' } };
  expect(classesOfClaim({ ...claim('x', { volumeAttributesClassName: 'a' }), status } as Claim)).toEqual(['a', 'b', 'c']);
});
