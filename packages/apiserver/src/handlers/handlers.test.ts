import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

describe('an applied configuration with a duplicate key', () => {
  const apply = (name: string, validation: string): Promise<Reply> =>
    server.call(`/api/v1/namespaces/default/configmaps/${name}?fieldManager=test&fieldValidation=${validation}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  a: one\n  a: two\n`,
    });

  it('is rejected with strict validation', async () => {
    const reply = await apply('strict', 'Strict');
    expect(reply.code).toBe(400);
    expect(reply.json().message).toBe(
      'error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 7: key "a" already set in map',
    );
  });

  it('causes a warning otherwise, and the last value wins', async () => {
    const reply = await apply('warned', 'Warn');
    expect(reply.code).toBe(201);
    expect(reply.headers['warning']).toBe(String.raw`299 - "line 7: key \"a\" already set in map"`);
    expect(reply.json()).toMatchObject({ data: { a: 'two' } });
  });

  it('is accepted silently without validation', async () => {
    const reply = await apply('ignored', 'Ignore');
    expect(reply.code).toBe(201);
    expect(reply.headers['warning']).toBeUndefined();
  });
});

it('decodes a null in an applied map as the zero value', async () => {
  const reply = await server.call('/api/v1/namespaces/default/configmaps/nulls?fieldManager=test', {
    method: 'PATCH',
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nulls, labels: {a: null}}\n',
  });
  expect(reply.json()).toMatchObject({ metadata: { labels: { a: '' } } });
});

it('reports an applied value that cannot be decoded as an internal error', async () => {
  const reply = await server.call('/api/v1/namespaces/default/resourcequotas/q?fieldManager=test', {
    method: 'PATCH',
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: 'apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {pods: x}}\n',
  });
  expect(reply.code).toBe(500);
  expect(reply.json().message).toMatch(
    /^failed to convert new object \(\/q; \/v1, Kind=ResourceQuota\) to proper version: unable to convert unstructured object to \/v1, Kind=ResourceQuota: quantities must match/,
  );
});

it('drops managed fields that a client sets for another group', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  await server.call(path, { method: 'POST', body: { metadata: { name: 'owned' }, data: { a: 'b' } } });
  const entry = { manager: 'x', operation: 'Update', fieldsType: 'FieldsV1', fieldsV1: { 'f:data': { 'f:a': {} } } };
  const managedFields = [
    { ...entry, apiVersion: 'example.com/v1' },
    { ...entry, apiVersion: 'v1' },
  ];
  const headers = { 'content-type': 'application/merge-patch+json' };
  const reply = await server.call(`${path}/owned`, { method: 'PATCH', headers, body: { metadata: { managedFields } } });
  expect(reply.json().metadata.managedFields).toEqual([{ ...entry, apiVersion: 'v1' }]);
});

it('replaces one propagation policy by another', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  await server.call(path, { method: 'POST', body: { metadata: { name: 'parent' } } });
  const finalizersAfter = async (policy: string): Promise<unknown> => {
    const reply = await server.call(`${path}/parent?propagationPolicy=${policy}`, { method: 'DELETE' });
    return reply.json().metadata.finalizers;
  };
  expect(await finalizersAfter('Orphan')).toEqual(['orphan']);
  expect(await finalizersAfter('Foreground')).toEqual(['foregroundDeletion']);
});

it('reports an invalid resourceVersion in a get as an internal error', async () => {
  const reply = await server.call('/api/v1/namespaces/default?resourceVersion=x');
  expect(reply.code).toBe(500);
  expect(reply.json().message).toBe('resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax');
});

describe('a review', () => {
  const ask = (accept: string): Promise<Reply> =>
    server.call('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
      method: 'POST',
      headers: { accept },
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { nonResourceAttributes: { path: '/', verb: 'get' } },
      },
    });
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';

  it('is not served as a table', async () => {
    const reply = await ask(table);
    expect(reply.code).toBe(406);
    expect(reply.json().reason).toBe('NotAcceptable');
  });

  it('is sent whole to clients that also accept that', async () => {
    const reply = await ask(`${table},application/json`);
    expect(reply.json()).toMatchObject({ kind: 'SelfSubjectAccessReview', status: { allowed: true } });
  });

  it('is served as metadata', async () => {
    const reply = await ask('application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io');
    expect(Object.keys(reply.json())).toEqual(['kind', 'apiVersion', 'metadata']);
    expect(reply.json()).toMatchObject({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' });
  });
});

describe('integers beyond the precision of a double', () => {
  const revisions = '/apis/apps/v1/namespaces/default/controllerrevisions';

  it('are kept through writes, patches and reads', async () => {
    const made = await server.call(revisions, {
      method: 'POST',
      body: '{"metadata":{"name":"big"},"revision":9007199254740993,"data":{"n":9223372036854775807}}',
    });
    expect(made.code).toBe(201);
    const patched = await server.call(`${revisions}/big`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: '{"revision":9007199254740995,"metadata":{"labels":{"a":"b"}}}',
    });
    expect(patched.text).toContain('"revision":9007199254740995');
    const { text } = await server.call(`${revisions}/big`);
    expect(text).toContain('"revision":9007199254740995');
    expect(text).toContain('"n":9223372036854775807');
  });

  it('are rejected beyond 64 bits, and when written as fractions', async () => {
    for (const written of ['9223372036854775808', '1.0', '1e3']) {
      const reply = await server.call(revisions, { method: 'POST', body: `{"metadata":{"name":"no"},"revision":${written}}` });
      expect(reply.json().message).toContain(
        `cannot unmarshal number ${written} into Go struct field ControllerRevision.revision of type int64`,
      );
    }
  });
});

it('a pod that never ran is returned as deleted immediately', async () => {
  const pods = '/api/v1/namespaces/default/pods';
  await server.call(pods, { method: 'POST', body: { metadata: { name: 'gone' }, spec: { containers: [{ name: 'c', image: 'i' }] } } });
  const { metadata } = (await server.call(`${pods}/gone`, { method: 'DELETE' })).json();
  expect([metadata.name, metadata.deletionGracePeriodSeconds]).toEqual(['gone', 0]);
  expect(metadata.deletionTimestamp).toMatch(/Z$/);
});

describe('a path', () => {
  it('may contain an escaped name, whatever the verb', async () => {
    const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'part:one' }, rules: [] };
    expect((await server.call(roles, { method: 'POST', body: role })).code).toBe(201);
    const headers = { 'content-type': 'application/merge-patch+json' };
    const patch = { method: 'PATCH', headers, body: { metadata: { labels: { a: 'b' } } } };
    for (const call of [{}, patch, { method: 'PUT', body: role }, { method: 'DELETE' }])
      expect((await server.call(`${roles}/part%3Aone`, call)).code).toBe(200);
  });

  const configMaps = '/api/v1/namespaces/default/configmaps';
  it.each([
    ['GET', `${configMaps}/a%2Fb`, 404, 'the server could not find the requested resource'],
    ['DELETE', '/api/v1/configmaps', 405, 'the server does not allow this method on the requested resource'],
    ['GET', `${configMaps}/none?a=%zz&dryRun=%zz`, 404, 'configmaps "none" not found'],
  ])('%s %s: %d %s', async (method, path, code, message) => {
    const reply = await server.call(path, { method });
    expect([reply.code, reply.json().message]).toEqual([code, message]);
  });
});

describe('a new object', () => {
  const create = (query: string, metadata: object): Promise<Reply> =>
    server.call(`/api/v1/namespaces/default/configmaps${query}`, { method: 'POST', body: { metadata } });

  it('cannot be created in deletion, and nobody manages those fields', async () => {
    const { metadata } = (await create('', { name: 'new', deletionGracePeriodSeconds: 5, labels: { a: 'b' } })).json();
    expect(metadata).not.toHaveProperty('deletionGracePeriodSeconds');
    expect(JSON.stringify(metadata)).not.toContain('f:deletionGracePeriodSeconds');
  });

  it('cannot have a version, except in a dry run', async () => {
    expect((await create('', { name: 'versioned', resourceVersion: '1' })).code).toBe(500);
    expect((await create('?dryRun=All', { name: 'versioned', resourceVersion: '1' })).code).toBe(201);
  });
});

describe('deleting a collection', () => {
  it('deletes one page and returns the number of remaining items', async () => {
    const path = '/api/v1/namespaces/default/podtemplates';
    for (const name of ['a', 'b', 'c'])
      await server.call(path, {
        method: 'POST',
        body: { metadata: { name }, template: { spec: { containers: [{ name: 'x', image: 'y' }] } } },
      });
    const deleted = (await server.call(`${path}?limit=1`, { method: 'DELETE' })).json();
    expect(deleted['items']).toHaveLength(1);
    expect(deleted.metadata).toMatchObject({ remainingItemCount: 2 });
  });
});

describe('the status of a resource claim', () => {
  const path = '/apis/resource.k8s.io/v1/namespaces/default/resourceclaims';
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  beforeAll(async () => {
    const spec = { devices: { requests: [{ name: 'a', exactly: { deviceClassName: 'c' } }] } };
    await server.call(path, { method: 'POST', body: { metadata: { name: 'c' }, spec } });
  });

  it('is not served as a table, unlike the claim', async () => {
    expect((await server.call(`${path}/c`, { headers: { accept: table } })).json()['kind']).toBe('Table');
    expect((await server.call(`${path}/c/status`, { headers: { accept: table } })).code).toBe(406);
    const other = await server.call(`${path}/c/status`, { headers: { accept: `${table},application/json` } });
    expect(other.json()['kind']).toBe('ResourceClaim');
  });
});

it('warns a client that deletes a job about its pods, unless it sets a propagation policy', async () => {
  const path = '/apis/batch/v1/namespaces/default/jobs';
  const remove = (query: string): Promise<Reply> => server.call(`${path}/none${query}`, { method: 'DELETE' });
  expect((await remove('')).headers['warning']).toContain('child pods are preserved by default when jobs are deleted');
  expect((await remove('?propagationPolicy=Background')).headers['warning']).toBeUndefined();
});

it('does not warn of deprecation in responses with errors', async () => {
  const path = '/api/v1/namespaces/default/endpoints';
  expect((await server.call(path)).headers['warning']).toContain('deprecated');
  const unknown = await server.call(path, { headers: { accept: 'text/x' } });
  expect([unknown.code, unknown.headers['warning']]).toEqual([406, undefined]);
  const patched = await server.call(`${path}/e`, { method: 'PATCH', headers: { 'content-type': 'text/x' }, body: {} });
  expect([patched.code, patched.headers['warning']]).toEqual([415, undefined]);
});
