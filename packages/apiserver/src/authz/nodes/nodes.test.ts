import { asClusterId, rootCluster, type User } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';
import { nodeNameOf } from './identity.ts';

let server: TestServer;
beforeAll(async () => void (server = await startTestServer()));
afterAll(() => server[Symbol.asyncDispose]());

const asNode = (node: string): Record<string, string> => ({
  'impersonate-user': `system:node:${node}`,
  'impersonate-group': 'system:nodes',
});
const by = (node: string, path: string, more: { method?: string; body?: unknown } = {}): Promise<Reply> =>
  server.call(path, { ...more, headers: asNode(node) });
const namespaced = (resource: string): string => `/api/v1/namespaces/default/${resource}`;
const put = async (path: string, body: object): Promise<KubeObject> => {
  const reply = await server.call(path, { method: 'POST', body });
  expect(reply.code, reply.text).toBe(201);
  return reply.json();
};

const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const container = (more: object = {}): object => ({ name: 'c', image: 'i', ...more });

/** A pod on node `one` that refers to everything that a pod can refer to. */
const pod = {
  metadata: { name: 'app', labels: { nodeName: 'two' } },
  spec: {
    nodeName: 'one',
    serviceAccountName: 'robot',
    imagePullSecrets: [{ name: 'pull' }],
    initContainers: [container({ name: 'i', env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'env-key', key: 'k' } } }] })],
    containers: [container({ envFrom: [{ secretRef: { name: 'env-all' } }, { configMapRef: { name: 'map-env' } }] })],
    volumes: [
      { name: 'a', secret: { secretName: 'mounted' } },
      { name: 'b', configMap: { name: 'map-mounted' } },
      { name: 'c', projected: { sources: [{ secret: { name: 'projected' } }, { configMap: { name: 'map-projected' } }] } },
      { name: 'd', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'e', ephemeral: { volumeClaimTemplate: { spec: claim } } },
    ],
    resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu-claim' }],
  },
};

beforeAll(async () => {
  await put(namespaced('serviceaccounts'), { metadata: { name: 'robot' } });
  await put(namespaced('serviceaccounts'), { metadata: { name: 'other' } });
  for (const name of ['pull', 'env-key', 'env-all', 'mounted', 'projected', 'volume-secret', 'controller-secret', 'unrelated'])
    await put(namespaced('secrets'), { metadata: { name } });
  for (const name of ['map-env', 'map-mounted', 'map-projected', 'map-unrelated'])
    await put(namespaced('configmaps'), { metadata: { name } });
  await put(namespaced('persistentvolumeclaims'), { metadata: { name: 'data' }, spec: { ...claim, volumeName: 'disk' } });
  await put(namespaced('persistentvolumeclaims'), { metadata: { name: 'stranger' }, spec: { ...claim, volumeName: 'foreign' } });
  await put(namespaced('persistentvolumeclaims'), { metadata: { name: 'app-e' }, spec: { ...claim, volumeName: 'foreign' } });
  const csi = {
    driver: 'd',
    volumeHandle: 'h',
    nodePublishSecretRef: { namespace: 'default', name: 'volume-secret' },
    controllerPublishSecretRef: { namespace: 'default', name: 'controller-secret' },
  };
  const volume = (name: string, claimName: string, secret: object): object => ({
    metadata: { name },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      claimRef: { namespace: 'default', name: claimName },
      csi: { ...csi, ...secret },
    },
  });
  await put('/api/v1/persistentvolumes', volume('disk', 'data', {}));
  const unrelated = { nodePublishSecretRef: { namespace: 'default', name: 'unrelated' } };
  await put('/api/v1/persistentvolumes', volume('foreign', 'stranger', unrelated));
  const attachment = (name: string, nodeName: string): object => ({
    metadata: { name },
    spec: { attacher: 'a', nodeName, source: { persistentVolumeName: 'disk' } },
  });
  await put('/apis/storage.k8s.io/v1/volumeattachments', attachment('mine', 'one'));
  await put('/apis/storage.k8s.io/v1/volumeattachments', attachment('theirs', 'two'));
  for (const name of ['one', 'two']) await put('/api/v1/nodes', { metadata: { name } });
  await put(namespaced('pods'), pod);
});

describe('a node', () => {
  it.each([
    ...['pull', 'env-key', 'env-all', 'mounted', 'projected', 'volume-secret'].map((name) => `secrets/${name}`),
    ...['map-env', 'map-mounted', 'map-projected'].map((name) => `configmaps/${name}`),
    ...['persistentvolumeclaims/data', 'persistentvolumeclaims/app-e', 'serviceaccounts/robot', 'pods/app'],
  ])('reads what its pods refer to: %s', async (path) => {
    expect((await by('one', namespaced(path))).code).toBe(200);
    expect((await by('two', namespaced(path))).code).toBe(403);
  });

  it.each([
    ...['secrets/unrelated', 'secrets/controller-secret', 'configmaps/map-unrelated', 'serviceaccounts/other'].map(namespaced),
    ...['secrets', 'configmaps', 'pods', 'serviceaccounts', 'persistentvolumeclaims'].map(namespaced),
    ...['/api/v1/secrets', '/api/v1/pods', '/api/v1/nodes', '/api/v1/nodes/two', '/api/v1/namespaces', '/api/v1/persistentvolumes/foreign'],
    ...['/apis/storage.k8s.io/v1/volumeattachments', '/apis/storage.k8s.io/v1/volumeattachments/theirs'],
    ...[
      '/apis/resource.k8s.io/v1/resourceslices',
      '/api/v1/pods?fieldSelector=spec.nodeName%3Dtwo',
      '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    ],
    ...['/api/v1/pods?fieldSelector=spec.nodeName!%3Done', '/apis/storage.k8s.io/v1/csinodes/two'],
    ...[
      '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/two',
      '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/one',
    ],
  ])('cannot read %s', async (path) => {
    expect((await by('one', path)).code).toBe(403);
  });

  it.each([
    ...['/api/v1/nodes/one', '/api/v1/persistentvolumes/disk', '/apis/storage.k8s.io/v1/volumeattachments/mine', '/api/v1/services'],
    ...['/api/v1/pods?fieldSelector=spec.nodeName%3Done', '/api/v1/nodes?fieldSelector=metadata.name%3Done'],
    ...['/api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Dmounted', '/apis/storage.k8s.io/v1/csidrivers'],
    ...['/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.nodeName%3Done', '/apis/node.k8s.io/v1/runtimeclasses'],
  ])('reads %s', async (path) => {
    expect((await by('one', path)).code).toBe(200);
  });

  it('is told which relation is missing', async () => {
    const reply = await by('one', namespaced('secrets/unrelated'));
    expect(reply.json().message).toBe(
      'secrets "unrelated" is forbidden: User "system:node:one" cannot get resource "secrets" in API group "" in the namespace "default": ' +
        "no relationship found between node 'one' and this object",
    );
  });

  it('gets and loses access with its pods', async () => {
    const path = namespaced('secrets/unrelated');
    expect((await by('three', path)).code).toBe(403);
    const spec = { ...pod.spec, nodeName: 'three', volumes: [{ name: 'v', secret: { secretName: 'unrelated' } }], resourceClaims: [] };
    await put(namespaced('pods'), { metadata: { name: 'late' }, spec });
    expect((await by('three', path)).code).toBe(200);
    expect((await server.call(namespaced('pods/late?gracePeriodSeconds=0'), { method: 'DELETE' })).code).toBe(200);
    expect((await by('three', path)).code).toBe(403);
  });

  it('has no rights through a user who only has the name or only the group', async () => {
    const path = namespaced('secrets/mounted');
    for (const headers of [{ 'impersonate-user': 'system:node:one' }, { 'impersonate-user': 'one', 'impersonate-group': 'system:nodes' }])
      expect((await server.call(path, { headers: headers as Record<string, string> })).code).toBe(403);
  });
});

test('a node belongs to the root workspace, or to those that its scopes name', () => {
  const user = { name: 'system:node:one', groups: ['system:nodes'] };
  const scopedTo = (cluster: string): User => ({ ...user, extra: { 'authentication.kcp.io/scopes': [`cluster:${cluster}`] } });
  expect([nodeNameOf(user, rootCluster), nodeNameOf(user, asClusterId('abcd'))]).toEqual(['one', undefined]);
  expect([nodeNameOf(scopedTo('abcd'), rootCluster), nodeNameOf(scopedTo('abcd'), asClusterId('abcd'))]).toEqual([undefined, 'one']);
});
