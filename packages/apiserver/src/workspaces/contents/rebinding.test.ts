import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorkspace, type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';
import { bind, cowboys, share } from '../apis/testing.ts';

let here: TestServer;
let there: TestServer;
let saved = '';

const content = (id: string, query = ''): string => `/capstan/workspaces/${id}/content${query}`;
const bindingsIn = (id: string): string => `/clusters/${id}/apis/apis.kcp.io/v1alpha2/apibindings`;
const cowboysIn = (id: string): string => `/clusters/${id}/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys`;
const cowboy = { apiVersion: 'wildwest.dev/v1alpha1', kind: 'Cowboy', metadata: { name: 'billy' }, spec: { intent: 'ride' } };

/** A workspace at `root:<id>` whose id it is, too. */
async function workspace(server: TestServer, id: string): Promise<void> {
  await createWorkspace(server, id);
  await server.call(`/clusters/${id}/api/v1/namespaces`, { method: 'POST', body: { metadata: { name: 'default' } } });
}

const restore = async (id: string, query = ''): Promise<Record<string, unknown>> =>
  (await there.call(content(id, query), { method: 'POST', body: saved })).json() as unknown as Record<string, unknown>;

/** Offers the same API under another identity, as another installation does. */
async function offerThere(): Promise<{ schema: KubeObject; identity: string }> {
  const shared = await share(there, 'provider', {}, cowboys());
  const path = '/clusters/provider/apis/apis.kcp.io/v1alpha2/apiexports/cowboys/status';
  const made = (await there.call('/clusters/provider/apis/apis.kcp.io/v1alpha2/apiexports/cowboys')).json();
  const identity = 'f'.repeat(64);
  await there.call(path, { method: 'PUT', body: { ...made, status: { identityHash: identity } } });
  const copy = { ...shared.schema, metadata: { name: `${shared.schema.metadata.uid}.cowboys.wildwest.dev` } };
  await there.call('/clusters/system:bound-crds/apis/apis.kcp.io/v1alpha1/apiresourceschemas', { method: 'POST', body: copy });
  return { schema: shared.schema, identity };
}

/** Does the work of the binding controller: the schema is the one that the export names now. */
async function bindAnew(id: string, { schema, identity }: { schema: KubeObject; identity: string }): Promise<Reply> {
  const binding = (await there.call(`${bindingsIn(id)}/cowboys`)).json();
  const { boundResources } = binding['status'] as { boundResources: { schema: object }[] };
  expect(boundResources).toMatchObject([{ schema: { identityHash: identity } }]);
  const bound = [{ ...boundResources[0]!, schema: { name: schema.metadata.name, UID: schema.metadata.uid, identityHash: identity } }];
  const status = { ...(binding['status'] as object), boundResources: bound };
  return there.call(`${bindingsIn(id)}/cowboys/status`, { method: 'PUT', body: { ...binding, status } });
}

beforeAll(async () => {
  here = await startTestServer();
  there = await startTestServer();
  for (const id of ['provider', 'consumer']) await workspace(here, id);
  const shared = await share(here, 'provider');
  await bind(here, { provider: 'provider', consumer: 'consumer', shared });
  expect((await here.call(cowboysIn('consumer'), { method: 'POST', body: cowboy })).code).toBe(201);
  saved = (await here.call(content('consumer'))).text;
  for (const id of ['early', 'later', 'asked']) await workspace(there, id);
});
afterAll(async () => {
  await here[Symbol.asyncDispose]();
  await there[Symbol.asyncDispose]();
});

describe('a workspace that comes from another installation', () => {
  test('says which of its bindings have no provider', async () => {
    expect(await restore('early')).toMatchObject({
      unbound: [{ binding: 'cowboys', export: 'provider:cowboys', reason: 'NoExport', objects: 1 }],
      rebound: [],
    });
  });

  test('is given to the export of the same name when that is asked for, then or later', async () => {
    await workspace(there, 'provider');
    const offered = await offerThere();
    expect(await restore('later')).toMatchObject({
      unbound: [{ binding: 'cowboys', export: 'provider:cowboys', reason: 'OtherIdentity', objects: 1 }],
      rebound: [],
    });
    for (const id of ['asked', 'later', 'early']) {
      expect(await restore(id, '?rebind=true')).toMatchObject({ unbound: [], rebound: ['cowboys'] });
      expect((await bindAnew(id, offered)).code).toBe(200);
      const items = (await there.call(cowboysIn(id))).json().items!;
      expect(items.map(({ metadata, spec }) => [metadata.name, spec])).toEqual([['billy', { intent: 'ride' }]]);
      // Nothing is left of what nobody could see.
      const all = (await there.call(content(id))).text.split('\n').filter((line) => line.includes('"kind":"Cowboy"'));
      expect(all).toHaveLength(1);
    }
    const view = '/services/apiexport/provider/cowboys/clusters/*/apis/wildwest.dev/v1alpha1/cowboys';
    expect((await there.call(view)).json().items).toHaveLength(3);
  });

  test('is not bound twice to what it is bound to', async () => {
    await workspace(there, 'twice');
    const renamed = saved
      .replaceAll('"name":"cowboys","', '"name":"wild-ones","')
      .replace('apibindings//cowboys', 'apibindings//wild-ones');
    const offered = JSON.parse((await there.call('/clusters/provider/apis/apis.kcp.io/v1alpha1/apiresourceschemas')).text) as {
      items: KubeObject[];
    };
    await bind(there, { provider: 'provider', consumer: 'twice', shared: { schema: offered.items[0]!, identity: 'f'.repeat(64) } });
    const answer = (await there.call(content('twice', '?rebind=true'), { method: 'POST', body: renamed })).json() as unknown as {
      skipped: string[];
    };
    expect(answer.skipped).toEqual(['apis.kcp.io/apibindings//wild-ones']);
    expect((await there.call(cowboysIn('twice'))).json().items).toHaveLength(1);
    expect((await there.call(bindingsIn('twice'))).json().items).toHaveLength(1);
  });
});

describe('a workspace that stays in its installation', () => {
  test('needs nothing', async () => {
    await workspace(here, 'copy');
    const answer = await here.call(content('copy'), { method: 'POST', body: saved });
    expect(answer.json()).toMatchObject({ unbound: [], rebound: [] });
    expect((await here.call(cowboysIn('copy'))).json().items).toHaveLength(1);
  });
});
