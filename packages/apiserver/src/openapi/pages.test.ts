import { gunzipSync } from 'node:zlib';
import type { JsonObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Things, version } from '../crds/testing/definitions.ts';
import { startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server[Symbol.asyncDispose]());

const protobuf = { accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' };

describe.each([
  ['/openapi/v2', {}],
  ['/openapi/v2', protobuf],
  ['/openapi/v3/api/v1', {}],
])('%s %o', (path, headers) => {
  it('is the same compressed and uncompressed', async () => {
    const plain = await server.call(path, { headers });
    const packed = await server.call(path, { headers: { ...headers, 'accept-encoding': 'gzip' } });
    expect([plain.code, packed.code]).toEqual([200, 200]);
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
  });

  it('is not sent again to a client that has it', async () => {
    const { headers: sent } = await server.call(path, { headers });
    const again = await server.call(path, { headers: { ...headers, 'if-none-match': String(sent['etag']) } });
    expect([again.code, again.body.length]).toEqual([304, 0]);
  });
});

describe.each(['/openapi/v2', '/openapi/v3', '/openapi/v3/api/v1'])('%s', (path) => {
  it('is validated by its content, never by time', async () => {
    const { headers } = await server.call(path);
    expect([headers['last-modified'], headers['etag']]).toEqual([undefined, expect.stringMatching(/^"[0-9A-F]{128}"$/)]);
    const since = new Date(Date.now() + 60_000).toUTCString();
    expect((await server.call(path, { headers: { 'if-modified-since': since } })).code).toBe(200);
    expect((await server.call(path, { headers: { 'if-modified-since': since, 'if-none-match': '"another"' } })).code).toBe(200);
    const list = `"another", W/${String(headers['etag'])}`;
    const known = await server.call(path, { headers: { 'if-none-match': list } });
    expect([known.code, known.headers['etag'], known.headers['content-type']]).toEqual([304, headers['etag'], undefined]);
  });
});

it('the same document has different ETags in JSON and protobuf', async () => {
  const [json, packed] = await Promise.all([server.call('/openapi/v2'), server.call('/openapi/v2', { headers: protobuf })]);
  expect(json.headers['etag']).not.toBe(packed.headers['etag']);
});

it('the ETag of the index changes when a kind is defined, and changes back when it is deleted', async () => {
  const tag = async (): Promise<unknown> => (await server.call('/openapi/v3')).headers['etag'];
  const before = await tag();
  const things = new Things(server, 'tags.example.com');
  await things.define({ versions: [version('v1', {})] });
  const defined = await server.call('/openapi/v3', { headers: { 'if-none-match': String(before) } });
  expect([defined.code, defined.text.includes('apis/tags.example.com/v1')]).toEqual([200, true]);
  await server.call(things.definitionPath, { method: 'DELETE' });
  await expect.poll(tag).toBe(before);
});

it('a request with an outdated hash is redirected to the current document', async () => {
  const moved = await server.call('/openapi/v3/apis/apps/v1?hash=old');
  expect([moved.code, moved.headers['vary']]).toEqual([301, 'Accept']);
  expect(moved.headers['location']).toContain(String(moved.headers['etag']).replaceAll('"', ''));
});

describe('a definition', () => {
  const documents = async (): Promise<{ v2: string; v3: JsonObject; tag: unknown }> => {
    const v2 = await server.call('/openapi/v2');
    const index = (await server.call('/openapi/v3')).json() as never as { paths: JsonObject };
    return { v2: v2.text, v3: index.paths, tag: v2.headers['etag'] };
  };

  it('appears in the documents, as does every change that they describe', async () => {
    const things = new Things(server, 'pages.example.com');
    const path = 'apis/pages.example.com/v1';
    const before = await documents();
    expect(before.v3[path]).toBeUndefined();
    await things.define({ versions: [version('v1', { first: { type: 'string' } })] });
    const defined = await documents();
    expect(defined.v2).toContain('com.example.pages.v1.Thing');
    expect(defined.tag).not.toBe(before.tag);
    const headers = { 'content-type': 'application/merge-patch+json' };
    const change = async (versions: JsonObject[]): Promise<void> => {
      await server.call(things.definitionPath, { method: 'PATCH', headers, body: { spec: { versions } } });
    };
    const base = { served: true, storage: true };
    await change([{ ...base, ...version('v1', { first: { type: 'string' } }), subresources: { status: {} } }]);
    const withStatus = await documents();
    expect(withStatus.v3[path]).not.toEqual(defined.v3[path]);
    expect(withStatus.v2).toContain('/apis/pages.example.com/v1/namespaces/{namespace}/things/{name}/status');
    await change([{ ...base, ...version('v1', { second: { type: 'string' } }), subresources: { status: {} } }]);
    const changed = await documents();
    expect(changed.v3[path]).not.toEqual(withStatus.v3[path]);
    expect(changed.v2).toContain('"second"');
    const selectableFields = [{ jsonPath: '.spec.second' }];
    await change([{ ...base, ...version('v1', { second: { type: 'string' } }), subresources: { status: {} }, selectableFields }]);
    const selectable = await documents();
    expect(selectable.v3[path]).not.toEqual(changed.v3[path]);
    expect(selectable.v2).toContain('"x-kubernetes-selectable-fields":[{"fieldPath":"spec.second"}]');
  });
});
