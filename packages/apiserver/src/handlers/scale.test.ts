import { afterAll, beforeEach, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../testing/harness.ts';

const path = '/apis/apps/v1/namespaces/default/deployments';
const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'd' } };
const server: TestServer = await startTestServer();

afterAll(() => server[Symbol.asyncDispose]());

beforeEach(async () => {
  await server.call(`${path}/d`, { method: 'DELETE' });
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const spec = { replicas: 2, selector: { matchLabels: { a: 'b' } }, template };
  await server.call(path, { method: 'POST', body: { metadata: { name: 'd' }, spec } });
});

const put = (more: object, query = ''): Promise<Reply> =>
  server.call(`${path}/d/scale${query}`, { method: 'PUT', body: { ...scale, ...more } });

const patch = (kind: string, body: object, query = ''): Promise<Reply> =>
  server.call(`${path}/d/scale${query}`, { method: 'PATCH', headers: { 'content-type': `application/${kind}` }, body });

const apply = (more: object, query: string): Promise<Reply> => patch('apply-patch+yaml', { ...scale, ...more }, query);

/** The managers that scaled, with their times. */
const scalers = async (): Promise<unknown> => {
  const entries = (await server.call(`${path}/d`)).json().metadata.managedFields as {
    manager: string;
    subresource?: string;
    time?: string;
  }[];
  return entries.filter(({ subresource }) => subresource === 'scale').map(({ manager, time }) => [manager, time]);
};

it('rejects a scale for another object', async () => {
  expect((await put({ metadata: { name: 'd', uid: 'bad' } })).code).toBe(409);
  expect((await put({ metadata: { name: 'd', namespace: 'other' } })).json().message).toBe(
    'the namespace of the provided object does not match the namespace sent on the request',
  );
});

it('reports unknown fields of a scale', async () => {
  const body = { spec: { bogus: 1 } };
  expect((await patch('merge-patch+json', body)).headers['warning']).toBe('299 - "unknown field \\"spec.bogus\\""');
  expect((await patch('merge-patch+json', body, '?fieldValidation=Strict')).code).toBe(422);
});

it('records the manager that scales, until it scales to zero', async () => {
  await put({ spec: { replicas: 3 } }, '?fieldManager=one');
  expect(await scalers()).toEqual([['one', undefined]]);
  await put({}, '?fieldManager=one');
  expect(await scalers()).toEqual([]);
  await put({ spec: { replicas: 4 } }, '?fieldManager=one');
  expect(await scalers()).toEqual([]);
});

it('supports server-side apply', async () => {
  expect((await apply({ spec: { replicas: 2 } }, '?fieldManager=one')).code).toBe(200);
  const refused = await apply({ spec: { replicas: 5 } }, '?fieldManager=two');
  expect(refused.code).toBe(409);
  expect(refused.json().message).toContain('conflicts with "one" with subresource "scale":\n- .spec.replicas');
  expect((await apply({ spec: { replicas: 5 } }, '?fieldManager=two&force=true')).json()).toMatchObject({ spec: { replicas: 5 } });
  expect(await scalers()).toEqual([['two', undefined]]);
  expect((await apply({}, '?fieldManager=two')).json()).toMatchObject({ spec: {} });
  expect(await scalers()).toEqual([]);
});

it('rejects an applied scale with another kind or with unknown fields', async () => {
  expect((await apply({ kind: 'Deployment' }, '?fieldManager=one')).json().message).toBe(
    'invalid object type: autoscaling/v1, Kind=Deployment',
  );
  expect((await apply({ spec: { bogus: 1 } }, '?fieldManager=one')).json().message).toBe(
    'failed to create typed patch object (/d; autoscaling/v1, Kind=Scale): .spec.bogus: field not declared in schema',
  );
});

it('conflicts with the value from before the first apply', async () => {
  await put({}, '?fieldManager=one');
  await put({ spec: { replicas: 4 } }, '?fieldManager=one');
  expect((await apply({ spec: { replicas: 5 } }, '?fieldManager=two')).json().message).toBe(
    'Apply failed with 1 conflict: conflict with "before-first-apply" with subresource "scale" using autoscaling/v1: .spec.replicas',
  );
  expect((await apply({ spec: { replicas: 4 } }, '?fieldManager=two')).code).toBe(200);
  expect(await scalers()).toEqual([
    ['two', undefined],
    ['before-first-apply', undefined],
  ]);
});

it.each([
  ['Table', { columnDefinitions: [{ name: 'Name' }, { name: 'Desired' }, { name: 'Available' }, { name: 'Age' }], rows: [{}] }],
  ['PartialObjectMetadata', { metadata: { name: 'd' } }],
])('is served as a %s', async (kind, shown) => {
  const accept = `application/json;as=${kind};v=v1;g=meta.k8s.io`;
  expect((await server.call(`${path}/d/scale`, { headers: { accept } })).json()).toMatchObject({ kind, ...shown });
});
