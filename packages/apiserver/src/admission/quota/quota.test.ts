import type { JsonObject, KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
let namespace = '';
let namespaces = 0;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(async () => {
  namespace = `quota-${++namespaces}`;
  await server.call('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: namespace } } });
});

const core = (resource: string): string => `/api/v1/namespaces/${namespace}/${resource}`;
const create = (resource: string, body: unknown): Promise<Reply> => server.call(core(resource), { method: 'POST', body });
const merge = (path: string, body: unknown): Promise<Reply> =>
  server.call(path, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } });
const makeMap = (name: string, query = ''): Promise<Reply> => create(`configmaps${query}`, { metadata: { name } });
const told = (reply: Reply): [number, string | undefined] => [reply.code, reply.json().message];

/** Creates a quota with a calculated status; nothing is used unless specified. */
async function limit(hard: JsonObject, more: { name?: string; used?: JsonObject; spec?: JsonObject } = {}): Promise<void> {
  const { name = 'q', spec = {} } = more;
  const used = more.used ?? Object.fromEntries(Object.keys(hard).map((key) => [key, '0']));
  await create('resourcequotas', { metadata: { name }, spec: { hard, ...spec } });
  const reply = await merge(core(`resourcequotas/${name}/status`), { status: { hard, used } });
  expect(reply.code).toBe(200);
}

async function quota(name = 'q'): Promise<KubeObject & { status: { used: JsonObject } }> {
  return (await server.call(core(`resourcequotas/${name}`))).json() as KubeObject & { status: { used: JsonObject } };
}

const pod = (name: string, limits: JsonObject, spec: JsonObject = {}): Promise<Reply> =>
  create('pods', { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i', resources: { limits } }], ...spec } });

describe('quotas', () => {
  it('count created objects, and reject those beyond the limit', async () => {
    await limit({ configmaps: '2', 'count/configmaps': '10' });
    expect([(await makeMap('a')).code, (await makeMap('b')).code]).toEqual([201, 201]);
    expect(told(await makeMap('c'))).toEqual([
      403,
      'configmaps "c" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2',
    ]);
    const { status, metadata } = await quota();
    expect(status.used).toEqual({ configmaps: '2', 'count/configmaps': '2' });
    expect(metadata.managedFields).toContainEqual(
      expect.objectContaining({ manager: 'kube-apiserver', operation: 'Update', subresource: 'status' }),
    );
  });

  it('for the whole workspace count all namespaces and cluster-scoped objects', async () => {
    const hard = { 'count/configmaps': '1', 'count/clusterroles.rbac.authorization.k8s.io': '1' };
    const used = { 'count/configmaps': '0', 'count/clusterroles.rbac.authorization.k8s.io': '0' };
    const admin = '/api/v1/namespaces/admin/resourcequotas';
    await server.call('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'admin' } } });
    const metadata = { name: 'all', annotations: { 'experimental.quota.kcp.io/cluster-scoped': 'true' } };
    await server.call(admin, { method: 'POST', body: { metadata, spec: { hard } } });
    await merge(`${admin}/all/status`, { status: { hard, used } });
    await limit({ 'count/configmaps': '5' });
    const role = (name: string): Promise<Reply> =>
      server.call('/apis/rbac.authorization.k8s.io/v1/clusterroles', { method: 'POST', body: { metadata: { name }, rules: [] } });
    expect([(await makeMap('a')).code, (await role('one')).code]).toEqual([201, 201]);
    expect(told(await makeMap('b'))).toEqual([
      403,
      'configmaps "b" is forbidden: exceeded quota: all, requested: count/configmaps=1, used: count/configmaps=1, limited: count/configmaps=1',
    ]);
    expect((await role('two')).code).toBe(403);
    expect((await quota()).status.used).toEqual({ 'count/configmaps': '1' });
    await server.call(`${admin}/all`, { method: 'DELETE' });
    expect([(await makeMap('b')).code, (await role('two')).code]).toEqual([201, 201]);
  });

  it('for the whole workspace cause a warning in a namespace where they have no effect', async () => {
    const annotations = { 'experimental.quota.kcp.io/cluster-scoped': 'true' };
    const quotas = '/api/v1/namespaces/default/resourcequotas';
    const made = await server.call(quotas, { method: 'POST', body: { metadata: { name: 'misplaced', annotations }, spec: { hard: {} } } });
    expect([made.code, made.headers['warning']]).toEqual([201, expect.stringContaining('only counts in the namespace \\"admin\\"')]);
    const changed = await merge(`${quotas}/misplaced`, { metadata: { annotations: { 'experimental.quota.kcp.io/cluster-scoped': null } } });
    expect([changed.code, changed.headers['warning']]).toEqual([200, undefined]);
    await server.call(`${quotas}/misplaced`, { method: 'DELETE' });
  });

  it('are checked but not charged by dry runs', async () => {
    await limit({ configmaps: '1' });
    expect((await makeMap('a', '?dryRun=All')).code).toBe(201);
    expect((await quota()).status.used).toEqual({ configmaps: '0' });
    await makeMap('a');
    expect((await makeMap('b', '?dryRun=All')).code).toBe(403);
  });

  it('without a status limit nothing, but those with a partial status do', async () => {
    await create('resourcequotas', { metadata: { name: 'new' }, spec: { hard: { configmaps: '0' } } });
    expect((await makeMap('a')).code).toBe(201);
    await limit({ configmaps: '5', secrets: '5' }, { used: { secrets: '0' } });
    expect(told(await makeMap('b'))).toEqual([403, 'configmaps "b" is forbidden: status unknown for quota: q, resources: configmaps']);
    expect((await create('secrets', { metadata: { name: 's' } })).code).toBe(201);
  });

  it('sum the resources of pods, and require pods to specify them', async () => {
    await limit({ 'limits.cpu': '2', 'requests.cpu': '1', memory: '1Gi', 'requests.example.com/gpu': '2', pods: '3' });
    expect(told(await pod('p', {}))).toEqual([
      403,
      'pods "p" is forbidden: failed quota: q: must specify limits.cpu for: c; memory for: c; requests.cpu for: c',
    ]);
    expect(told(await pod('p', { cpu: '3', memory: '2Gi', 'example.com/gpu': '3' }))).toEqual([
      403,
      'pods "p" is forbidden: exceeded quota: q, requested: limits.cpu=3,memory=2Gi,requests.cpu=3,requests.example.com/gpu=3, used: limits.cpu=0,memory=0,requests.cpu=0,requests.example.com/gpu=0, limited: limits.cpu=2,memory=1Gi,requests.cpu=1,requests.example.com/gpu=2',
    ]);
    expect((await pod('p', { cpu: '500m', memory: '512Mi' })).code).toBe(201);
    expect((await quota()).status.used).toEqual({
      'limits.cpu': '500m',
      'requests.cpu': '500m',
      memory: '512Mi',
      'requests.example.com/gpu': '0',
      pods: '1',
    });
  });

  it('apply to the pods in their scope', async () => {
    await limit({ pods: '1' }, { name: 'best-effort', spec: { scopes: ['BestEffort'] } });
    await limit(
      { pods: '0' },
      { name: 'high', spec: { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }] } } },
    );
    expect([(await pod('a', {})).code, (await pod('b', {})).code, (await pod('c', { cpu: '1' })).code]).toEqual([201, 403, 201]);
    expect((await quota('best-effort')).status.used).toEqual({ pods: '1' });
  });

  it('charge a pod that moves into their scope by getting a deadline', async () => {
    await limit({ pods: '5' }, { name: 'ends', spec: { scopes: ['Terminating'] } });
    await limit({ pods: '5' }, { name: 'stays', spec: { scopes: ['NotTerminating'] } });
    await pod('p', {});
    expect((await merge(core('pods/p'), { spec: { activeDeadlineSeconds: 60 } })).code).toBe(200);
    expect((await quota('ends')).status.used).toEqual({ pods: '1' });
  });

  it('charge the difference when a service changes to a type that uses more', async () => {
    await limit({ services: '1', 'services.nodeports': '2' });
    const ports = [
      { name: 'a', port: 1 },
      { name: 'b', port: 2 },
    ];
    expect((await create('services', { metadata: { name: 's' }, spec: { ports } })).code).toBe(201);
    expect((await merge(core('services/s'), { spec: { type: 'NodePort' } })).code).toBe(200);
    expect((await quota()).status.used).toEqual({ services: '1', 'services.nodeports': '2' });
    expect(told(await merge(core('services/s'), { spec: { ports: [...ports, { name: 'c', port: 3 }] } }))).toEqual([
      403,
      'services "s" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=2, limited: services.nodeports=2',
    ]);
    expect((await merge(core('services/s'), { metadata: { labels: { x: 'y' } } })).code).toBe(200);
  });

  it('sum storage, in total and per class', async () => {
    const gold = 'gold.storageclass.storage.k8s.io/requests.storage';
    await limit({ 'requests.storage': '10Gi', [gold]: '2Gi' });
    const claim = (name: string, storage: string, storageClassName: string): Promise<Reply> =>
      create('persistentvolumeclaims', {
        metadata: { name },
        spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage } } },
      });
    expect((await claim('a', '2Gi', 'gold')).code).toBe(201);
    expect((await claim('b', '5Gi', 'silver')).code).toBe(201);
    expect(told(await claim('c', '1Gi', 'gold'))[1]).toBe(
      `persistentvolumeclaims "c" is forbidden: exceeded quota: q, requested: ${gold}=1Gi, used: ${gold}=2Gi, limited: ${gold}=2Gi`,
    );
    expect((await quota()).status.used).toEqual({ 'requests.storage': '7Gi', [gold]: '2Gi' });
  });

  it('count kinds of any group, including custom resources', async () => {
    await limit({ 'count/leases.coordination.k8s.io': '1', 'count/widgets.example.com': '1' });
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    const lease = (name: string): Promise<Reply> => server.call(leases, { method: 'POST', body: { metadata: { name } } });
    expect([(await lease('a')).code, (await lease('b')).code]).toEqual([201, 403]);
    const schema = { openAPIV3Schema: { type: 'object' } };
    await server.call('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      method: 'POST',
      body: {
        metadata: { name: 'widgets.example.com' },
        spec: {
          group: 'example.com',
          scope: 'Namespaced',
          names: { plural: 'widgets', kind: 'Widget' },
          versions: [{ name: 'v1', served: true, storage: true, schema }],
        },
      },
    });
    const widgets = `/apis/example.com/v1/namespaces/${namespace}/widgets`;
    const widget = (name: string): Promise<Reply> =>
      server.call(widgets, { method: 'POST', body: { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name } } });
    await expect.poll(async () => (await server.call(widgets)).code).toBe(200);
    expect((await widget('a')).code).toBe(201);
    expect(told(await widget('b'))[1]).toBe(
      'widgets.example.com "b" is forbidden: exceeded quota: q, requested: count/widgets.example.com=1, used: count/widgets.example.com=1, limited: count/widgets.example.com=1',
    );
  });

  it('do not count events', async () => {
    await limit({ 'count/events': '0' });
    const involvedObject = { kind: 'Pod', name: 'p', namespace };
    expect((await create('events', { metadata: { name: 'e' }, involvedObject })).code).toBe(201);
  });

  it('must all have room; none is charged for a request that another rejects', async () => {
    await limit({ configmaps: '5' }, { name: 'wide' });
    await limit({ configmaps: '1' }, { name: 'narrow' });
    const codes = await Promise.all(Array.from({ length: 8 }, async (_, index) => (await makeMap(`m${index}`)).code));
    expect(codes.filter((code) => code === 201)).toHaveLength(1);
    expect([(await quota('wide')).status.used, (await quota('narrow')).status.used]).toEqual([{ configmaps: '1' }, { configmaps: '1' }]);
  });

  it('admit exactly as many objects as fit, however many are created at once', async () => {
    await limit({ configmaps: '50' });
    const before = Number((await quota()).metadata.resourceVersion);
    const codes = await Promise.all(Array.from({ length: 200 }, async (_, index) => (await makeMap(`m${index}`)).code));
    expect(codes.filter((code) => code === 201)).toHaveLength(50);
    expect(codes.filter((code) => code === 403)).toHaveLength(150);
    const { items = [] } = (await server.call(core('configmaps'))).json();
    expect(items).toHaveLength(50);
    const after = await quota();
    expect(after.status.used).toEqual({ configmaps: '50' });
    // Concurrent requests share writes, so fifty objects need fewer than fifty writes of the quota.
    expect(Number(after.metadata.resourceVersion) - before).toBeLessThan(100);
  });
});
