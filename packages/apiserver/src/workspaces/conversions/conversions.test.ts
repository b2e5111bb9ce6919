import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { merge } from '../../crds/testing/definitions.ts';
import { markerFile } from '../../registry/quarantine.ts';
import { createWorkspace, type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';
import { bind, cowboys, share } from '../apis/testing.ts';

let server: TestServer;

const text = { type: 'string' };
const schemaIn = (spec: object): object => ({ type: 'object', properties: { spec: { type: 'object', properties: spec } } });
const names = { type: 'object', properties: { first: text, last: text } };

/** Version 1 has one name field; version 2 splits it in two and has a field that version 1 lacks. */
function twoVersions(): KubeObject {
  const schema = cowboys('today');
  const versions = [
    { name: 'v1', served: true, storage: true, schema: schemaIn({ name: text, horse: text }), subresources: { status: {} } },
    { name: 'v2', served: true, storage: false, schema: schemaIn({ name: names, hat: text }), subresources: {} },
  ];
  return { ...schema, spec: { ...(schema['spec'] as object), conversion: { strategy: 'None' }, versions } };
}

const part = (name: string, index: number) => ({
  field: '.spec.name',
  destination: `.spec.name.${name}`,
  transformation: `self.split(' ')[${index}]`,
});
const whole = { field: '.spec.name', destination: '.spec.name', transformation: "self.first + ' ' + self.last" };
const conversions = [
  { from: 'v1', to: 'v2', rules: [part('first', 0), part('last', 1)], preserve: ['.spec.horse'] },
  { from: 'v2', to: 'v1', rules: [whole], preserve: ['.spec.hat'] },
];
const conversion = (name: string, spec: object = { conversions }): object => ({
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'APIConversion',
  metadata: { name },
  spec,
});
const conversionsIn = (cluster: string): string => `/clusters/${cluster}/apis/apis.kcp.io/v1alpha1/apiconversions`;
const cowboysIn = (cluster: string, version: string): string =>
  `/clusters/${cluster}/apis/wildwest.dev/${version}/namespaces/default/cowboys`;
const post = (path: string, body: object): Promise<Reply> => server.call(path, { method: 'POST', body });
const cowboy = (version: string, name: string, spec: object): object => ({
  apiVersion: `wildwest.dev/${version}`,
  kind: 'Cowboy',
  metadata: { name },
  spec,
});

let copy = '';

beforeAll(async () => {
  server = await startTestServer();
  for (const id of ['provider', 'one', 'two']) {
    await createWorkspace(server, id);
    await post(`/clusters/${id}/api/v1/namespaces`, { metadata: { name: 'default' } });
  }
  const shared = await share(server, 'provider', {}, twoVersions());
  copy = `${shared.schema.metadata.uid}.cowboys.wildwest.dev`;
  expect((await post(conversionsIn('system:bound-crds'), conversion(copy))).code).toBe(201);
  for (const consumer of ['one', 'two']) await bind(server, { provider: 'provider', consumer, shared });
});
afterAll(() => server[Symbol.asyncDispose]());

describe('a bound kind whose schema has an APIConversion', () => {
  test('is served in every version, whichever it was written in', async () => {
    await post(cowboysIn('one', 'v1'), cowboy('v1', 'billy', { name: 'Billy Kid', horse: 'Star' }));
    expect((await server.call(`${cowboysIn('one', 'v2')}/billy`)).json()).toMatchObject({
      apiVersion: 'wildwest.dev/v2',
      metadata: { name: 'billy', annotations: { 'preserve.conversion.apis.kcp.io/v1': '{"spec.horse":"Star"}' } },
      spec: { name: { first: 'Billy', last: 'Kid' } },
    });
    const made = await post(cowboysIn('one', 'v2'), cowboy('v2', 'jane', { name: { first: 'Jane', last: 'Calamity' }, hat: 'black' }));
    expect(made.json()).toMatchObject({ apiVersion: 'wildwest.dev/v2', spec: { name: { first: 'Jane', last: 'Calamity' }, hat: 'black' } });
    expect((await server.call(`${cowboysIn('one', 'v1')}/jane`)).json()['spec']).toEqual({ name: 'Jane Calamity' });
    const listed = await server.call(cowboysIn('one', 'v2'));
    expect(listed.json().items!.map((one) => one['spec'])).toEqual([
      { name: { first: 'Billy', last: 'Kid' } },
      { name: { first: 'Jane', last: 'Calamity' }, hat: 'black' },
    ]);
  });

  test('loses nothing when it is changed in different versions', async () => {
    await post(cowboysIn('one', 'v1'), cowboy('v1', 'doc', { name: 'Doc Holliday', horse: 'Star' }));
    const patch = (version: string, spec: object): Promise<Reply> =>
      server.call(`${cowboysIn('one', version)}/doc`, { method: 'PATCH', headers: merge, body: { spec } });
    await patch('v2', { hat: 'grey', name: { first: 'John' } });
    expect((await server.call(`${cowboysIn('one', 'v1')}/doc`)).json()['spec']).toEqual({ name: 'John Holliday', horse: 'Star' });
    await patch('v1', { name: 'Doc Holliday' });
    expect((await server.call(`${cowboysIn('one', 'v2')}/doc`)).json()['spec']).toEqual({
      name: { first: 'Doc', last: 'Holliday' },
      hat: 'grey',
    });
  });

  test('is watched in the requested version, in order', async () => {
    const path = cowboysIn('two', 'v1');
    const watched = server.watchUntil(`${cowboysIn('two', 'v2')}?watch=true&timeoutSeconds=20`, ({ type }) => type === 'DELETED');
    await post(path, cowboy('v1', 'a', { name: 'A B' }));
    await server.call(`${path}/a`, { method: 'PATCH', headers: merge, body: { spec: { name: 'A C' } } });
    await server.call(`${path}/a`, { method: 'DELETE' });
    const events = await watched;
    expect(events.map(({ type, object }) => [type, object.apiVersion, (object['spec'] as { name: object }).name])).toEqual([
      ['ADDED', 'wildwest.dev/v2', { first: 'A', last: 'B' }],
      ['MODIFIED', 'wildwest.dev/v2', { first: 'A', last: 'C' }],
      ['DELETED', 'wildwest.dev/v2', { first: 'A', last: 'C' }],
    ]);
  });

  test('rejects objects that cannot be converted to every version', async () => {
    const reply = await post(cowboysIn('two', 'v1'), cowboy('v1', 'plato', { name: 'Plato' }));
    expect(reply.code).toBe(422);
    expect(reply.json().message).toBe(
      'Cowboy.wildwest.dev "plato" is invalid: spec.name: Invalid value: null: cannot be converted to v2: index out of bounds: 1',
    );
    expect((await server.call(`${cowboysIn('two', 'v1')}/plato`)).code).toBe(404);
  });

  test('follows changed rules, and its watches restart', async () => {
    await post(cowboysIn('two', 'v1'), cowboy('v1', 'belle', { name: 'Belle Starr' }));
    const { resourceVersion } = (await server.call(cowboysIn('two', 'v2'))).json().metadata;
    const watched = server.watchUntil(
      `${cowboysIn('two', 'v2')}?watch=true&timeoutSeconds=20&resourceVersion=${resourceVersion}`,
      () => false,
    );
    const swapped = [{ ...conversions[0]!, rules: [part('first', 1), part('last', 0)] }, conversions[1]];
    const change = (spec: object): Promise<Reply> =>
      server.call(`${conversionsIn('system:bound-crds')}/${copy}`, { method: 'PATCH', headers: merge, body: { spec } });
    expect((await change({ conversions: swapped })).code).toBe(200);
    expect(await watched).toEqual([]);
    expect((await server.call(`${cowboysIn('two', 'v2')}/belle`)).json()['spec']).toEqual({ name: { first: 'Starr', last: 'Belle' } });
    await change({ conversions });
    expect((await server.call(`${cowboysIn('two', 'v2')}/belle`)).json()['spec']).toEqual({ name: { first: 'Belle', last: 'Starr' } });
  });

  test('can still be read in its storage version, repaired and deleted when an object no longer converts', async () => {
    const change = (spec: object): Promise<Reply> =>
      server.call(`${conversionsIn('system:bound-crds')}/${copy}`, { method: 'PATCH', headers: merge, body: { spec } });
    await change({ conversions: [] });
    await post(cowboysIn('two', 'v1'), cowboy('v1', 'solo', { name: 'Solo' }));
    await change({ conversions });
    const failed = await server.call(`${cowboysIn('two', 'v2')}/solo`);
    expect([failed.code, failed.json().message]).toEqual([500, 'conversion failed: Cowboy "solo": spec.name: index out of bounds: 1']);
    expect((await server.call(cowboysIn('two', 'v2'))).code).toBe(500);
    expect((await server.call(cowboysIn('one', 'v2'))).code).toBe(200);
    expect((await server.call(`${cowboysIn('two', 'v1')}/solo`)).code).toBe(200);
    expect((await server.call(`${cowboysIn('two', 'v1')}/solo`, { method: 'DELETE' })).code).toBe(200);
    expect((await server.call(cowboysIn('two', 'v2'))).code).toBe(200);
  });
});

describe('rules that the server was evaluating when it stopped', () => {
  test('are not evaluated again until they are changed', async () => {
    const path = `${conversionsIn('system:bound-crds')}/${copy}`;
    await post(cowboysIn('one', 'v1'), cowboy('v1', 'annie', { name: 'Annie Oakley' }));
    const { spec } = (await server.call(path)).json() as unknown as { spec: object };
    const evaluated = { identity: `conversion ${hash('sha256', JSON.stringify(spec))}`, name: 'the APIConversion of "cowboys"' };
    for (let stop = 0; stop < 2; stop++)
      await server.restart(() => writeFileSync(join(server.directory, markerFile), `${JSON.stringify(evaluated)}\n`));
    const failed = await server.call(`${cowboysIn('one', 'v2')}/annie`);
    expect([failed.code, failed.json().message]).toEqual([500, expect.stringContaining('"cowboys" is quarantined since') as string]);
    expect((await server.call(`${cowboysIn('one', 'v1')}/annie`)).code).toBe(200);
    const annotations = async (): Promise<object> => (await server.call(path)).json().metadata.annotations ?? {};
    const mark = expect.stringContaining('"cowboys" is quarantined since') as string;
    await expect.poll(annotations, { timeout: 10_000 }).toMatchObject({ 'capstan.dev/quarantined': mark });
    const changed = { conversions: [{ ...conversions[0]!, preserve: [] }, conversions[1]] };
    const change = (to: object): Promise<Reply> => server.call(path, { method: 'PATCH', headers: merge, body: { spec: to } });
    expect((await change(changed)).code).toBe(200);
    expect((await server.call(`${cowboysIn('one', 'v2')}/annie`)).json()['spec']).toEqual({ name: { first: 'Annie', last: 'Oakley' } });
    await expect.poll(annotations, { timeout: 10_000 }).not.toHaveProperty(['capstan.dev/quarantined']);
  });
});

describe('expensive rules', () => {
  const slow = "self.split('').all(a, self.split('').all(b, (a + b).size() == 2)) ? self : ''";

  test('do not block other requests', async () => {
    await createWorkspace(server, 'slow-provider');
    await createWorkspace(server, 'slow');
    await post('/clusters/slow/api/v1/namespaces', { metadata: { name: 'default' } });
    const shared = await share(server, 'slow-provider', {}, twoVersions());
    await bind(server, { provider: 'slow-provider', consumer: 'slow', shared });
    const name = 'x'.repeat(90);
    const made = Array.from({ length: 60 }, (_, index) => post(cowboysIn('slow', 'v1'), cowboy('v1', `c${index}`, { name })));
    expect((await Promise.all(made)).map(({ code }) => code)).toEqual(made.map(() => 201));
    const rules = [{ field: '.spec.name', destination: '.spec.name.first', transformation: slow }];
    const spec = { conversions: [{ from: 'v1', to: 'v2', rules }] };
    await post(conversionsIn('system:bound-crds'), conversion(`${shared.schema.metadata.uid}.cowboys.wildwest.dev`, spec));
    const order: string[] = [];
    const listed = server.call(cowboysIn('slow', 'v2')).then((reply) => {
      order.push('list');
      return reply;
    });
    for (let index = 0; index < 3; index++) order.push(String((await server.call('/clusters/one/api/v1/namespaces/default')).code));
    expect((await listed).json().items!.map((one) => one['spec'])).toEqual(made.map(() => ({ name: { first: name } })));
    expect(order).toEqual(['200', '200', '200', 'list']);
  });
});

describe('an APIConversion', () => {
  test('needs a schema in the same workspace', async () => {
    const reply = await post(conversionsIn('provider'), conversion('yesterday.cowboys.wildwest.dev'));
    expect([reply.code, reply.json().message]).toEqual([
      403,
      'apiconversions.apis.kcp.io "yesterday.cowboys.wildwest.dev" is forbidden: error getting APIResourceSchema yesterday.cowboys.wildwest.dev: ' +
        'apiresourceschema.apis.kcp.io "yesterday.cowboys.wildwest.dev" not found',
    ]);
  });

  test('is rejected if its rules do not match the schema', async () => {
    const wrong = { conversions: [{ from: 'v1', to: 'v2', rules: [{ field: '.spec.nam', destination: '.spec.hat' }] }] };
    const reply = await post(conversionsIn('provider'), conversion('today.cowboys.wildwest.dev', wrong));
    expect(reply.code).toBe(403);
    expect(reply.json().message).toContain(
      `spec.conversions[0].rules[0].field: Invalid value: ".spec.nam": field "spec.nam" doesn't exist`,
    );
    expect((await post(conversionsIn('provider'), conversion('today.cowboys.wildwest.dev'))).code).toBe(201);
  });
});
