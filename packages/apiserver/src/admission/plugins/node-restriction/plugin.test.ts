import { generateKeyPairSync } from 'node:crypto';
import type { KubeObject } from '@capstan/machinery';
import { createCertificateRequest } from '@capstan/pki';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../../../testing/harness.ts';
import { forbiddenLabels } from './labels.ts';

let server: TestServer;
beforeAll(async () => void (server = await startTestServer()));
afterAll(() => server[Symbol.asyncDispose]());

const headers = { 'impersonate-user': 'system:node:one', 'impersonate-group': 'system:nodes' };
const by = (path: string, method: string, body?: unknown, more: Record<string, string> = {}): Promise<Reply> =>
  server.call(path, { method, headers: { ...headers, ...more }, ...(body !== undefined && { body }) });
const merge = { 'content-type': 'application/merge-patch+json' };
const put = async (path: string, body: object): Promise<KubeObject> => {
  const reply = await server.call(path, { method: 'POST', body });
  expect(reply.code, reply.text).toBe(201);
  return reply.json();
};
const namespaced = (resource: string): string => `/api/v1/namespaces/default/${resource}`;
const leases = (namespace: string): string => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
const why = (reply: Reply): string | undefined => (reply.code < 300 ? undefined : `${reply.code} ${reply.json().message}`);

const spec = { containers: [{ name: 'c', image: 'i' }] };
let node: KubeObject;
let mine: KubeObject;

beforeAll(async () => {
  expect(
    why(await by('/api/v1/nodes', 'POST', { metadata: { name: 'one', labels: { 'kubernetes.io/hostname': 'one' } } })),
  ).toBeUndefined();
  node = (await server.call('/api/v1/nodes/one')).json();
  await put('/api/v1/nodes', { metadata: { name: 'two' } });
  await put(namespaced('serviceaccounts'), { metadata: { name: 'robot' } });
  const token = { name: 't', projected: { sources: [{ serviceAccountToken: { path: 'x', audience: 'vault' } }] } };
  const own = { ...spec, nodeName: 'one', serviceAccountName: 'robot', volumes: [token] };
  mine = await put(namespaced('pods'), { metadata: { name: 'mine' }, spec: own });
  await put(namespaced('pods'), { metadata: { name: 'theirs' }, spec: { ...own, nodeName: 'two' } });
});

describe('a node changes nodes', () => {
  it('of its own name only', async () => {
    expect(why(await by('/api/v1/nodes', 'POST', { metadata: { name: 'three' } }))).toContain(
      '403 nodes "three" is forbidden: node "one" is not allowed to modify node "three"',
    );
    expect(why(await by('/api/v1/nodes/two/status', 'PATCH', { status: { phase: 'Running' } }, merge))).toContain(
      'is not allowed to modify',
    );
    expect(why(await by('/api/v1/nodes/one/status', 'PATCH', { status: { phase: 'Running' } }, merge))).toBeUndefined();
    expect((await by('/api/v1/nodes/one', 'DELETE')).code).toBe(403);
  });

  it('without their taints, owners and restricted labels', async () => {
    const patch = async (change: object): Promise<string | undefined> => why(await by('/api/v1/nodes/one', 'PATCH', change, merge));
    expect(await patch({ spec: { taints: [] } })).toContain('node "one" is not allowed to modify taints');
    expect(await patch({ metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }] } })).toContain(
      'ownerReferences',
    );
    expect(await patch({ metadata: { labels: { 'node-restriction.kubernetes.io/secure': 'true' } } })).toContain(
      'is not allowed to modify labels: node-restriction.kubernetes.io/secure',
    );
    expect(await patch({ metadata: { labels: { rack: '7' } } })).toBeUndefined();
  });

  it.each([
    ['rack', false],
    ['example.com/pool', false],
    ['kubernetes.io/hostname', false],
    ['topology.kubernetes.io/zone', false],
    ['kubelet.kubernetes.io/any', false],
    ['a.node.kubernetes.io/any', false],
    ['node-restriction.kubernetes.io/any', true],
    ['a.node-restriction.kubernetes.io/any', true],
    ['node-role.kubernetes.io/control-plane', true],
    ['kubernetes.io/other', true],
    ['sub.k8s.io/other', true],
    ['notkubernetes.io/any', false],
  ])('with the label %s: forbidden is %s', (label, isForbidden) => {
    expect(forbiddenLabels({}, { [label]: 'x' }).length > 0).toBe(isForbidden);
    expect(forbiddenLabels({ [label]: 'x' }, {}).length > 0).toBe(isForbidden);
    expect(forbiddenLabels({ [label]: 'x' }, { [label]: 'x' })).toEqual([]);
  });
});

describe('a node changes pods', () => {
  it('on itself only', async () => {
    const status = { status: { message: 'm' } };
    expect(why(await by(namespaced('pods/mine/status'), 'PATCH', status, merge))).toBeUndefined();
    expect(why(await by(namespaced('pods/theirs/status'), 'PATCH', status, merge))).toContain('with spec.nodeName set to itself');
    expect(why(await by(namespaced('pods/theirs'), 'DELETE'))).toContain('can only delete pods with spec.nodeName set to itself');
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'theirs' } };
    expect(why(await by(namespaced('pods/theirs/eviction'), 'POST', eviction))).toContain('can only evict pods with spec.nodeName');
    expect((await by(namespaced('pods/mine'), 'PATCH', { metadata: { labels: { a: 'b' } } }, merge)).code).toBe(403);
  });

  const mirror = (more: object = {}, inSpec: object = {}): object => ({
    metadata: {
      name: 'static',
      annotations: { 'kubernetes.io/config.mirror': 'x' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'one', uid: node.metadata.uid, controller: true }],
      ...more,
    },
    spec: { ...spec, nodeName: 'one', ...inSpec },
  });

  it.each<[string, () => object]>([
    ['can only create mirror pods', () => ({ metadata: { name: 'static' }, spec: { ...spec, nodeName: 'one' } })],
    ['can only create pods with spec.nodeName set to itself', () => mirror({}, { nodeName: 'two' })],
    ['can only create pods with an owner reference set to itself', () => mirror({ ownerReferences: [] })],
    ['UID mismatch', () => mirror({ ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'one', uid: 'other', controller: true }] })],
    ['reference serviceaccounts', () => mirror({}, { serviceAccountName: 'robot' })],
    ['reference secrets', () => mirror({}, { volumes: [{ name: 'v', secret: { secretName: 's' } }] })],
    ['reference configmaps', () => mirror({}, { volumes: [{ name: 'v', configMap: { name: 's' } }] })],
    ['reference persistentvolumeclaims', () => mirror({}, { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 's' } }] })],
    [
      'reference serviceaccounts (via projected volumes)',
      () => mirror({}, { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'x' } }] } }] }),
    ],
    ['reference csidrivers (via CSI volumes)', () => mirror({}, { volumes: [{ name: 'v', csi: { driver: 'd' } }] })],
  ])('that it creates as mirrors of its own: %s', async (message, body) => {
    expect(why(await by(namespaced('pods'), 'POST', body()))).toContain(message);
  });

  it('that need nothing from the API', async () => {
    expect(why(await by(namespaced('pods'), 'POST', mirror({}, { volumes: [{ name: 'v', hostPath: { path: '/x' } }] })))).toBeUndefined();
    expect(why(await by(namespaced('pods/static?gracePeriodSeconds=0'), 'DELETE'))).toBeUndefined();
  });
});

describe('a node requests tokens', () => {
  const ask = async (request: { pod?: string; uid?: string | undefined; audiences?: string[] }): Promise<string | undefined> => {
    const { pod = 'mine', uid = mine.metadata.uid, audiences = ['vault'] } = request;
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: pod, uid };
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences, boundObjectRef } };
    return why(await by(namespaced('serviceaccounts/robot/token'), 'POST', body));
  };

  it('for its pods and the audiences that they mount', async () => {
    expect(await ask({})).toBeUndefined();
    const theirs = (await server.call(namespaced('pods/theirs'))).json().metadata.uid;
    expect(await ask({ pod: 'theirs', uid: theirs })).toContain('bound to a pod scheduled on a different node');
    expect(await ask({ uid: 'older' })).toContain('does not match the UID in record');
    expect(await ask({ pod: '' })).toContain('node requested token not bound to a pod');
    expect(await ask({ audiences: ['bank'] })).toContain('audience "bank" not found in pod spec volume, system:node:one is not authorized');
    expect(await ask({ audiences: ['vault', 'bank'] })).toContain('node may only request 0 or 1 audiences');
  });

  it('for other audiences if a role allows it', async () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    await put(`${rbac}/clusterroles`, {
      metadata: { name: 'bank' },
      rules: [{ verbs: ['request-serviceaccounts-token-audience'], apiGroups: [''], resources: ['bank'] }],
    });
    await put(`${rbac}/clusterrolebindings`, {
      metadata: { name: 'bank' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'bank' },
      subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:nodes' }],
    });
    expect(await ask({ audiences: ['bank'] })).toBeUndefined();
  });
});

describe('a node creates', () => {
  it('its own lease and CSINode', async () => {
    expect(why(await by(leases('kube-node-lease'), 'POST', { metadata: { name: 'one' } }))).toBeUndefined();
    expect(why(await by(leases('kube-node-lease'), 'POST', { metadata: { name: 'two' } }))).toContain(
      'can only access node lease with the same name',
    );
    expect((await by(leases('default'), 'POST', { metadata: { name: 'one' } })).code).toBe(403);
    const csiNodes = '/apis/storage.k8s.io/v1/csinodes';
    expect(why(await by(csiNodes, 'POST', { metadata: { name: 'one' }, spec: { drivers: [] } }))).toBeUndefined();
    expect(why(await by(csiNodes, 'POST', { metadata: { name: 'two' }, spec: { drivers: [] } }))).toContain('can only access CSINode');
  });

  it('certificate requests for itself', async () => {
    const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const ask = async (commonName: string): Promise<string | undefined> => {
      const request = Buffer.from(createCertificateRequest({ commonName, organizations: ['system:nodes'], hosts: [], key })).toString(
        'base64',
      );
      const asked = { request, signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usages: ['digital signature', 'client auth'] };
      return why(
        await by('/apis/certificates.k8s.io/v1/certificatesigningrequests', 'POST', { metadata: { generateName: 'c-' }, spec: asked }),
      );
    };
    expect(await ask('system:node:one')).toBeUndefined();
    expect(await ask('system:node:two')).toContain('can only create a node CSR with CN=system:node:one');
  });
});
