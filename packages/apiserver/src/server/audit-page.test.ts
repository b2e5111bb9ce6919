import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
const logicalClusters = '/apis/core.kcp.io/v1alpha1/logicalclusters';
const roles = '/apis/rbac.authorization.k8s.io/v1';

interface Event {
  readonly verb: string;
  readonly user: { username: string };
  readonly objectRef?: { resource: string; name?: string };
  readonly annotations: Record<string, string>;
}

const as = (user: string, path: string, body?: object): Promise<Reply> =>
  server.call(path, { anonymous: true, headers: { authorization: `Bearer ${user}-token` }, ...(body && { method: 'POST', body }) });
const eventsIn = (reply: Reply): Event[] => {
  expect(reply.code, reply.text).toBe(200);
  return reply.json().items as unknown as Event[];
};

async function begin(id: string, owner: string): Promise<void> {
  const annotations = {
    'internal.tenancy.kcp.io/type': 'root:universal',
    'kcp.io/path': `root:${id}`,
    'experimental.tenancy.kcp.io/owner': JSON.stringify({ username: owner }),
  };
  const body = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata: { name: 'cluster', annotations } };
  expect((await server.call(`/clusters/${id}${logicalClusters}`, { method: 'POST', body })).code).toBe(201);
}

beforeAll(async () => {
  server = await startTestServer({ tokens: 'alice-token,alice,1\nbob-token,bob,2\neve-token,eve,3' });
  await begin('alices', 'alice');
  await begin('bobs', 'bob');
  for (const [user, id] of [
    ['alice', 'alices'],
    ['bob', 'bobs'],
  ] as const) {
    const reply = await as(user, `/clusters/${id}/api/v1/namespaces/default/configmaps`, { metadata: { name: `of-${user}` } });
    expect(reply.code, reply.text).toBe(201);
  }
});
afterAll(() => server[Symbol.asyncDispose]());

describe('the audit events of a workspace', () => {
  it('are read by its administrators, and are only its own', async () => {
    const events = eventsIn(await as('alice', '/clusters/alices/capstan/audit?resource=configmaps'));
    expect(events.map(({ user }) => user.username)).toEqual(['alice']);
    for (const query of ['', '?workspace=bobs', '?user=bob', '?workspace=*', '?workspace=root'])
      for (const event of eventsIn(await as('alice', `/clusters/alices/capstan/audit${query}`)))
        expect(event.annotations['tenancy.kcp.io/workspace']).toBe('alices');
  });

  it('name the object that was created, also if the server chose the name', async () => {
    const path = '/clusters/alices/api/v1/namespaces/default/secrets';
    const made = (await as('alice', path, { metadata: { generateName: 'made-' } })).json() as {
      metadata: { name: string; resourceVersion: string };
    };
    expect(made.metadata.name).toMatch(/^made-./);
    await as('alice', path, { metadata: { name: 'given' } });
    await as('alice', path, { metadata: { name: 'given' } });
    const events = eventsIn(await as('alice', '/clusters/alices/capstan/audit?resource=secrets'));
    expect(events.map(({ objectRef }) => objectRef?.name ?? '').toSorted()).toEqual(['given', 'given', made.metadata.name]);
    const [event] = eventsIn(await as('alice', `/clusters/alices/capstan/audit?resource=secrets&name=${made.metadata.name}`));
    expect(event).toMatchObject({ verb: 'create', objectRef: { resourceVersion: made.metadata.resourceVersion } });
  });

  it('need a right that the rules of the workspace give', async () => {
    const rule = { nonResourceURLs: ['/'], verbs: ['access'] };
    const inside = '/clusters/alices';
    const put = async (path: string, body: object): Promise<void> =>
      expect((await as('alice', `${inside}${roles}/${path}`, body)).code).toBe(201);
    const bound = (name: string): object => ({
      metadata: { name },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'eve' }],
      roleRef: { kind: 'ClusterRole', apiGroup: 'rbac.authorization.k8s.io', name },
    });
    expect((await as('eve', `${inside}/capstan/audit`)).code).toBe(403);
    await put('clusterroles', { metadata: { name: 'enter' }, rules: [rule] });
    await put('clusterrolebindings', bound('enter'));
    expect((await as('eve', `${inside}/capstan/audit`)).code).toBe(403);
    await put('clusterroles', { metadata: { name: 'auditor' }, rules: [{ nonResourceURLs: ['/capstan/audit'], verbs: ['get'] }] });
    await put('clusterrolebindings', bound('auditor'));
    expect(eventsIn(await as('eve', `${inside}/capstan/audit`)).length).toBeGreaterThan(0);
    expect((await as('eve', '/capstan/audit')).code).toBe(403);
    expect((await as('eve', '/clusters/root/capstan/audit')).code).toBe(403);
    expect((await as('eve', '/clusters/bobs/capstan/audit')).code).toBe(403);
  });

  it.each([
    '/clusters/bobs/capstan/audit',
    '/clusters/root:bobs/capstan/audit',
    '/clusters/alices%2F..%2Fbobs/capstan/audit',
    '/clusters/alices/../bobs/capstan/audit',
    '/clusters/*/capstan/audit',
    '/clusters/alices/capstan/audit/',
    '/clusters/alices//capstan/audit',
    '/clusters/alices/capstan/audit/..%2f..',
    '/clusters/alices/capstan/workspaces/bobs/content',
    '/services/apiexport/alices/x/clusters/bobs/capstan/audit',
    '/services/initializingworkspaces/alices:x/clusters/bobs/capstan/audit',
    '/capstan/audit?workspace=alices',
    '/capstan/audit',
  ])('cannot be reached by a user of another through %s', async (path) => {
    const reply = await as('alice', path);
    expect(reply.text).not.toContain('bobs-');
    if (reply.code === 200)
      for (const event of (reply.json().items ?? []) as unknown as Event[])
        expect(event.annotations['tenancy.kcp.io/workspace']).toBe('alices');
    else expect(reply.code).toBeGreaterThanOrEqual(400);
  });

  it('cannot be forged by annotations of a policy', async () => {
    const inside = '/clusters/bobs/apis/admissionregistration.k8s.io/v1';
    const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }];
    const spec = {
      matchConstraints: { resourceRules },
      validations: [{ expression: 'true' }],
      auditAnnotations: [{ key: 'workspace', valueExpression: '"alices"' }],
    };
    const name = 'tenancy.kcp.io';
    expect((await as('bob', `${inside}/validatingadmissionpolicies`, { metadata: { name }, spec })).code).toBe(201);
    const binding = { metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } };
    expect((await as('bob', `${inside}/validatingadmissionpolicybindings`, binding)).code).toBe(201);
    const made = await as('bob', '/clusters/bobs/api/v1/namespaces/default/configmaps', { metadata: { name: 'forged' } });
    expect(made.code, made.text).toBe(201);
    const seen = eventsIn(await as('alice', '/clusters/alices/capstan/audit?user=bob'));
    expect(seen).toEqual([]);
    const own = eventsIn(await as('bob', '/clusters/bobs/capstan/audit?resource=configmaps&limit=1'));
    expect(own[0]!.annotations['tenancy.kcp.io/workspace']).toBe('bobs');
  });
});

describe('the audit events of all workspaces', () => {
  it('are read by the owners of the platform, who may name a workspace', async () => {
    const all = eventsIn(await server.call('/capstan/audit?resource=configmaps&verb=create&user=alice'));
    expect(all.map(({ annotations }) => annotations['tenancy.kcp.io/workspace'])).toContain('alices');
    const one = eventsIn(await server.call('/capstan/audit?workspace=bobs'));
    expect(new Set(one.map(({ annotations }) => annotations['tenancy.kcp.io/workspace']))).toEqual(new Set(['bobs']));
    expect((await server.call('/capstan/audit', { method: 'POST' })).code).toBe(405);
    expect((await server.call('/capstan/audit?since=never')).code).toBe(400);
  });
});
