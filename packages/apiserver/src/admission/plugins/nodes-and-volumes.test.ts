import type { JsonObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const post = (path: string, body: unknown): Promise<Reply> => server.call(path, { method: 'POST', body });
const spec = (reply: Reply): JsonObject => reply.json()['spec'] as JsonObject;

describe('a new node', () => {
  const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

  test('is tainted until it is ready', async () => {
    const made = await post('/api/v1/nodes?dryRun=All', {
      metadata: { name: 'n' },
      spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] },
    });
    expect(spec(made)['taints']).toEqual([{ key: 'a', effect: 'NoSchedule' }, notReady]);
  });

  test('is tainted only once', async () => {
    const made = await post('/api/v1/nodes?dryRun=All', { metadata: { name: 'n' }, spec: { taints: [notReady] } });
    expect(spec(made)['taints']).toEqual([notReady]);
  });
});

describe('the runtime class of a pod', () => {
  const pods = '/api/v1/namespaces/default/pods?dryRun=All';
  const pod = (more: JsonObject): JsonObject => ({ metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }], ...more } });
  beforeAll(async () => {
    await post('/apis/node.k8s.io/v1/runtimeclasses', {
      metadata: { name: 'small' },
      handler: 'h',
      overhead: { podFixed: { cpu: '10m' } },
      scheduling: { nodeSelector: { runtime: 'small' }, tolerations: [{ key: 'runtime', operator: 'Exists' }] },
    });
  });

  test('must exist', async () => {
    const refused = await post(pods, pod({ runtimeClassName: 'none' }));
    expect([refused.code, refused.json().message]).toEqual([403, 'pods "p" is forbidden: pod rejected: RuntimeClass "none" not found']);
  });

  test('refuses more tolerations than it can compare', async () => {
    const tolerations = Array.from({ length: 5_000 }, (_, index) => ({ key: `k${index}`, operator: 'Exists' }));
    const refused = await post(pods, pod({ runtimeClassName: 'small', tolerations }));
    expect([refused.code, refused.json().message]).toEqual([403, expect.stringContaining('5003 tolerations')]);
    expect((await post(pods, pod({ runtimeClassName: 'small', tolerations: tolerations.slice(0, 300) }))).code).toBe(201);
  });

  test('sets the overhead, node selector and tolerations', async () => {
    const made = spec(await post(pods, pod({ runtimeClassName: 'small', nodeSelector: { disk: 'ssd' } })));
    expect(made['overhead']).toEqual({ cpu: '10m' });
    expect(made['nodeSelector']).toEqual({ disk: 'ssd', runtime: 'small' });
    expect(made['tolerations']).toContainEqual({ key: 'runtime', operator: 'Exists' });
  });

  test.each([
    [{ runtimeClassName: 'small', overhead: { cpu: '1' } }, "doesn't match RuntimeClass's defined Overhead"],
    [{ overhead: { cpu: '1' } }, 'Pod Overhead set without corresponding RuntimeClass defined Overhead'],
    [
      { runtimeClassName: 'small', nodeSelector: { runtime: 'x' } },
      'conflict: runtimeClass.scheduling.nodeSelector[runtime] = small; pod.spec.nodeSelector[runtime] = x',
    ],
  ])('must not be contradicted by %j', async (more, message) => {
    const refused = await post(pods, pod(more));
    expect(refused.code).toBe(403);
    expect(refused.json().message).toContain(message);
  });
});

describe('expanding a claim', () => {
  const claims = '/api/v1/namespaces/default/persistentvolumeclaims';
  const claim = (storage: string): JsonObject => ({
    metadata: { name: 'c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, storageClassName: 'grows', volumeName: 'v' },
  });
  const grow = (): Promise<Reply> =>
    server.call(`${claims}/c`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { resources: { requests: { storage: '2Gi' } } } },
    });

  test('requires a bound claim and a class that allows expansion', async () => {
    await post(claims, claim('1Gi'));
    await server.call(`${claims}/c/status`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { status: { phase: 'Bound' } },
    });
    expect((await grow()).json().message).toContain('the storageclass that provisions the pvc must support resize');
    await post('/apis/storage.k8s.io/v1/storageclasses', { metadata: { name: 'grows' }, provisioner: 'a.b/c', allowVolumeExpansion: true });
    expect((await grow()).code).toBe(200);
  });
});

describe('storage objects', () => {
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  const claims = '/api/v1/namespaces/default/persistentvolumeclaims?dryRun=All';
  const claim = (finalizers: string[]): JsonObject => ({ metadata: { name: 'kept', finalizers }, spec });
  const finalizersOf = async (path: string, body: JsonObject): Promise<unknown> => (await post(path, body)).json().metadata.finalizers;

  test('get a protection finalizer', async () => {
    expect(await finalizersOf(claims, claim([]))).toEqual(['kubernetes.io/pvc-protection']);
    const volume = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } };
    expect(await finalizersOf('/api/v1/persistentvolumes?dryRun=All', { metadata: { name: 'v' }, spec: volume })).toEqual([
      'kubernetes.io/pv-protection',
    ]);
    const classes = '/apis/storage.k8s.io/v1/volumeattributesclasses?dryRun=All';
    expect(await finalizersOf(classes, { metadata: { name: 'gold' }, driverName: 'd', parameters: { a: 'b' } })).toEqual([
      'kubernetes.io/vac-protection',
    ]);
  });

  test('get the finalizer only once, after existing ones', async () => {
    expect(await finalizersOf(claims, claim(['example.com/a']))).toEqual(['example.com/a', 'kubernetes.io/pvc-protection']);
    expect(await finalizersOf(claims, claim(['kubernetes.io/pvc-protection', 'example.com/a']))).toEqual([
      'kubernetes.io/pvc-protection',
      'example.com/a',
    ]);
  });
});
