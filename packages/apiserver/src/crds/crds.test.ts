import type { JsonObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorkspace, startTestServer, type TestServer } from '../testing/harness.ts';
import { definition, definitionsPath, hasCondition, merge, Things, thing, version } from './testing/definitions.ts';

let server: TestServer;
let count = 0;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const fresh = (): Things => new Things(server, `g${++count}.example.com`);
const text = { type: 'string' };
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

describe('a definition', () => {
  test('is served once it is established, and appears in discovery and OpenAPI', async () => {
    const things = fresh();
    await things.define({ versions: [version('v1', { a: text })] });
    const { resources } = (await server.call(`/apis/${things.group}/v1`)).json() as unknown as { resources: unknown[] };
    expect(resources).toMatchObject([{ name: 'things', singularName: 'thing', kind: 'Thing', shortNames: ['th'], namespaced: true }]);
    expect((await server.call('/apis')).text).toContain(`"name":"${things.group}"`);
    expect((await server.call('/openapi/v3')).text).toContain(`apis/${things.group}/v1`);
    expect((await server.call(`/openapi/v3/apis/${things.group}/v1`)).text).toContain('"x-kubernetes-group-version-kind"');
    expect((await server.call('/openapi/v2')).text).toContain(`/apis/${things.group}/v1/namespaces/{namespace}/things`);
    const aggregated = await server.call('/apis', {
      headers: { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' },
    });
    expect(aggregated.text).toContain(`"responseKind":{"group":"${things.group}","version":"v1","kind":"Thing"}`);
  });

  test('may have half a megabyte of schema, all of which is enforced', async () => {
    const things = fresh();
    const fields = Object.fromEntries(
      Array.from({ length: 330 }, (_, index) => [
        `field${index}`,
        {
          type: 'object',
          description: 'What this field is for, at the length at which generators write it down. '.repeat(10),
          properties: Object.fromEntries(
            Array.from({ length: 8 }, (_unused, inner) => [
              `part${inner}`,
              { type: 'integer', minimum: inner, default: index + inner, description: 'One of its parts.' },
            ]),
          ),
        },
      ]),
    );
    const parts = { versions: [version('v1', fields)] };
    expect(JSON.stringify(parts).length).toBeGreaterThan(450_000);
    await things.define(parts);
    const created = await things.create('a', { field329: { part7: 8 }, nope: 1 });
    expect(created.json()['spec']).toMatchObject({ field329: { part0: 329, part7: 8 } });
    expect(created.headers['warning']).toContain('unknown field');
    expect((await things.create('b', { field5: { part7: 1 } })).json().message).toContain(
      'spec.field5.part7 in body should be greater than or equal to 7',
    );
  });

  test('waits for its names until they are free', async () => {
    const things = fresh();
    await things.define({ versions: [version('v1', {})] });
    const other = definition(things.group, { versions: [version('v1', {})], spec: { names: { plural: 'stuff', kind: 'Thing' } } });
    other.metadata.name = `stuff.${things.group}`;
    await server.call(definitionsPath, { method: 'POST', body: other });
    const path = `${definitionsPath}?watch=true&fieldSelector=metadata.name%3Dstuff.${things.group}&timeoutSeconds=20`;
    const refused = await server.watchUntil(path, ({ object }) => hasCondition(object, 'NamesAccepted', 'False'));
    expect(JSON.stringify(refused.at(-1))).toContain('\\"ThingList\\" is already in use');
    expect((await server.call(`/apis/${things.group}/v1/namespaces/default/stuff`)).code).toBe(404);
    await things.drop();
    await server.watchUntil(path, ({ object }) => hasCondition(object, 'Established', 'True'));
    expect((await server.call(`/apis/${things.group}/v1/namespaces/default/stuff`)).code).toBe(200);
  });

  test('is unchanged after a restart', async () => {
    const things = fresh();
    await things.define({ versions: [version('v1', { a: text })] });
    await things.create('a', { a: 'x' });
    await server.restart();
    expect((await things.get('a')).json()['spec']).toEqual({ a: 'x' });
    expect((await things.create('b', { a: 1 })).code).toBe(422);
  });

  test('is deleted with its objects, and waits for those with finalizers', async () => {
    const things = fresh();
    await things.define({ versions: [version('v1', {})] });
    await things.create('a', {});
    await things.create('b', {});
    await things.patch('b', { metadata: { finalizers: ['example.com/wait'] } });
    const watched = server.watchUntil(
      `${things.path()}?watch=true&timeoutSeconds=20`,
      ({ type, object }) => type === 'DELETED' && object.metadata.name === 'b',
    );
    const deleted = (await things.drop()).json();
    expect(deleted.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
    await things.until((object) => JSON.stringify(object).includes('InstanceDeletionInProgress'));
    expect((await things.create('c', {})).json()).toMatchObject({
      code: 403,
      message: expect.stringContaining('create not allowed while custom resource definition is terminating'),
    });
    await server.watchUntil(
      `${things.path()}?watch=true&timeoutSeconds=20`,
      ({ object }) => object.metadata.deletionTimestamp !== undefined,
    );
    await things.patch('b', { metadata: { finalizers: null } });
    await things.gone();
    expect((await watched).filter(({ type }) => type === 'DELETED').map(({ object }) => object.metadata.name)).toEqual(['a', 'b']);
    const reply = await things.get('b');
    expect([reply.code, reply.text]).toEqual([404, '404 page not found\n']);
  });

  test('ends the watches of its objects when it changes', async () => {
    const things = fresh();
    await things.define({ versions: [version('v1', { a: text })] });
    const ended = server.watch(`${things.path()}?watch=true&resourceVersion=0`, Number.POSITIVE_INFINITY);
    await things.create('a', { a: 'x' });
    const versions = [{ served: true, storage: true, ...version('v1', { a: text, b: text }) }];
    await server.call(things.definitionPath, { method: 'PATCH', headers: merge, body: { spec: { versions } } });
    expect((await ended).length).toBeLessThanOrEqual(1);
  });

  test('is not visible in other workspaces', async () => {
    const things = fresh();
    await things.define({ versions: [version('v1', {})] });
    await createWorkspace(server, 'other');
    expect((await server.call(`/clusters/other${things.path()}`)).code).toBe(404);
    expect((await server.call('/clusters/other/apis')).text).not.toContain(things.group);
  });
});

describe('custom resources', () => {
  test('appear in lists and tables', async () => {
    const things = fresh();
    const additionalPrinterColumns = [
      { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
      { name: 'First', type: 'string', jsonPath: '.spec.list[0].name' },
      { name: 'Since', type: 'date', jsonPath: '.spec.since' },
    ];
    const list = { type: 'array', items: { type: 'object', properties: { name: text } } };
    await things.define({ versions: [version('v1', { size: { type: 'integer' }, list, since: text }, { additionalPrinterColumns })] });
    await things.create('a', { size: 3, list: [{ name: 'x' }], since: 'once' });
    await things.create('b', {});
    const listed = (await server.call(things.path())).json();
    expect(listed.items?.map(({ kind, apiVersion, metadata }) => [kind, apiVersion, metadata.name])).toEqual([
      ['Thing', `${things.group}/v1`, 'a'],
      ['Thing', `${things.group}/v1`, 'b'],
    ]);
    const { columnDefinitions, rows } = (await server.call(things.path(), { headers: table })).json() as unknown as {
      columnDefinitions: { name: string }[];
      rows: { cells: unknown[] }[];
    };
    expect(columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'Size', 'First', 'Since']);
    expect(rows.map(({ cells }) => cells)).toEqual([
      ['a', 3, 'x', '<invalid>'],
      ['b', null, null, null],
    ]);
  });

  test('can be selected by the selectable fields of the definition', async () => {
    const things = fresh();
    await things.define({
      versions: [
        version(
          'v1',
          { colour: text, size: { type: 'integer' } },
          { selectableFields: [{ jsonPath: '.spec.colour' }, { jsonPath: '.spec.size' }] },
        ),
      ],
    });
    await things.create('a', { colour: 'red', size: 1 });
    await things.create('b', { colour: 'blue', size: 1 });
    const select = async (selector: string): Promise<unknown> => {
      const reply = (await server.call(`${things.path()}?fieldSelector=${encodeURIComponent(selector)}`)).json();
      return reply.items?.map(({ metadata }) => metadata.name) ?? reply.message;
    };
    expect(await select('spec.colour=red')).toEqual(['a']);
    expect(await select('spec.size=1,spec.colour!=red')).toEqual(['b']);
    expect(await select('spec.nope=1')).toBe('field label not supported: spec.nope');
    const events = server.watchUntil(
      `${things.path()}?watch=true&timeoutSeconds=20&fieldSelector=spec.colour%3Dred`,
      ({ type }) => type === 'DELETED',
    );
    await things.patch('a', { spec: { colour: 'green' } });
    expect((await events).map(({ type, object }) => [type, object.metadata.name])).toContainEqual(['DELETED', 'a']);
  });

  test('increment their generation when anything but metadata and status changes', async () => {
    const things = fresh();
    const status = { type: 'object', properties: { phase: text } };
    const parts = version('v1', { a: text }, { subresources: { status: {} } });
    (parts['schema'] as { openAPIV3Schema: { properties: Record<string, unknown> } }).openAPIV3Schema.properties['status'] = status;
    await things.define({ versions: [parts] });
    await things.create('a', { a: '1' });
    expect((await things.patch('a', { spec: { a: '2' } })).json().metadata.generation).toBe(2);
    expect((await things.patch('a', { metadata: { labels: { a: 'b' } }, status: { phase: 'no' } })).json()).toMatchObject({
      metadata: { generation: 2 },
    });
    const path = `${things.path()}/a/status`;
    const changed = await server.call(path, { method: 'PATCH', headers: merge, body: { status: { phase: 'Ready' }, spec: { a: '3' } } });
    expect(changed.json()).toMatchObject({ metadata: { generation: 2 }, spec: { a: '2' }, status: { phase: 'Ready' } });
  });

  test('stored before a change of the definition are served in the new form', async () => {
    const things = fresh();
    await things.define({ versions: [version('v1', { a: text, gone: text })] });
    await things.create('a', { a: 'x', gone: 'y' });
    const versions = [
      { served: true, storage: true, ...version('v1', { a: { type: 'string', maxLength: 0 }, added: { type: 'string', default: 'new' } }) },
    ];
    await server.call(things.definitionPath, { method: 'PATCH', headers: merge, body: { spec: { versions } } });
    expect((await things.get('a')).json()['spec']).toEqual({ a: 'x', added: 'new' });
    expect((await server.call(things.path())).json().items?.[0]?.['spec']).toEqual({ a: 'x', added: 'new' });
    expect((await things.patch('a', { spec: { added: 'other' } })).code).toBe(200);
    expect((await things.patch('a', { spec: { a: 'longer' } })).code).toBe(422);
    await server.restart();
    expect((await things.get('a')).json()['spec']).toEqual({ a: 'x', added: 'other' });
  });

  test('are the same in all versions', async () => {
    const things = fresh();
    await things.define({
      versions: [
        version('v1', { a: text }),
        version('v1beta1', { a: text, b: text }, { deprecated: true }),
        version('v2', {}, { served: false }),
      ],
    });
    const old = await things.create('a', { a: 'x', b: 'y' }, 'v1beta1');
    expect(old.headers['warning']).toBe(`299 - "${things.group}/v1beta1 Thing is deprecated; use ${things.group}/v1 Thing"`);
    expect((await things.get('a')).json()).toMatchObject({ apiVersion: `${things.group}/v1`, spec: { a: 'x' } });
    expect((await things.get('a', 'v2')).code).toBe(404);
    const events = await server.watch(`${things.path('v1beta1')}?watch=true`, 1);
    expect(events[0]?.object).toMatchObject({ apiVersion: `${things.group}/v1beta1`, kind: 'Thing' });
  });

  test('get the defaults of the written version and of the stored version', async () => {
    const things = fresh();
    const standard = (value: string): JsonObject => ({ type: 'string', default: value });
    const beta = version('v1beta1', { a: standard('beta'), b: text, c: text });
    await things.define({ versions: [version('v1', { a: text, b: standard('one'), c: text }), beta] });
    expect((await things.create('a', {}, 'v1beta1')).json()['spec']).toEqual({ a: 'beta', b: 'one' });
    expect((await things.create('b', {})).json()['spec']).toEqual({ b: 'one' });
    // Reading in another version adds none of its defaults.
    expect((await things.get('b', 'v1beta1')).json()['spec']).toEqual({ b: 'one' });
    const versions = [
      { served: true, storage: true, ...version('v1', { a: text, b: standard('one'), c: standard('late') }) },
      { served: true, storage: false, ...beta },
    ];
    await server.call(things.definitionPath, { method: 'PATCH', headers: merge, body: { spec: { versions } } });
    expect((await things.get('b', 'v1beta1')).json()['spec']).toEqual({ b: 'one', c: 'late' });
  });

  test('are checked against validation rules', async () => {
    const things = fresh();
    const parts = version('v1', {
      size: { type: 'integer' },
      name: { type: 'string', maxLength: 9 },
      parts: { type: 'array', maxItems: 9, items: text },
    });
    const root = (parts['schema'] as { openAPIV3Schema: { properties: { spec: Record<string, unknown> } } }).openAPIV3Schema;
    root.properties.spec['x-kubernetes-validations'] = [
      { rule: 'self.size < 9', messageExpression: "'too large: ' + self.name", fieldPath: '.size', reason: 'FieldValueForbidden' },
      { rule: '!has(oldSelf.parts) || self.parts == oldSelf.parts', message: 'parts stay' },
    ];
    await things.define({ versions: [parts] });
    expect((await things.create('a', { size: 10, name: 'ten' })).json().message).toContain('spec.size: Forbidden: too large: ten');
    await things.create('a', { size: 1, parts: ['x'] });
    expect((await things.patch('a', { spec: { parts: ['y'] } })).json().message).toContain('spec: Invalid value: "object": parts stay');
    expect((await things.patch('a', { spec: { size: 2 } })).code).toBe(200);
  });

  test('support apply and dry run', async () => {
    const things = fresh();
    const ports = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: { type: 'object', required: ['name'], properties: { name: text, port: { type: 'integer' } } },
    };
    await things.define({ versions: [version('v1', { ports })] });
    const apply = (manager: string, spec: object, more = ''): ReturnType<TestServer['call']> =>
      server.call(`${things.path()}/a?fieldManager=${manager}${more}`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: thing(things.group, 'a', spec as never),
      });
    expect((await apply('one', { ports: [{ name: 'a', port: 1 }] }, '&dryRun=All')).code).toBe(201);
    expect((await things.get('a')).code).toBe(404);
    await apply('one', { ports: [{ name: 'a', port: 1 }] });
    await apply('two', { ports: [{ name: 'b', port: 2 }] });
    expect((await apply('one', {})).json()['spec']).toEqual({ ports: [{ name: 'b', port: 2 }] });
    expect((await apply('three', { ports: [{ name: 'b', port: 3 }] })).code).toBe(409);
    expect((await apply('three', { nope: 1 })).json().message).toContain('.spec.nope: field not declared in schema');
  });
});
