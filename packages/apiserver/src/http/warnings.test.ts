import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';
import { warningHeaders } from './warnings.ts';

describe('a warning', () => {
  it('is quoted, encoded as UTF-8, and has no control characters', () => {
    expect(warningHeaders(['a "b" \\ c'])).toEqual(['299 - "a \\"b\\" \\\\ c"']);
    expect(Buffer.from(warningHeaders(['a € b'])[0]!, 'latin1').toString()).toBe('299 - "a € b"');
    expect(warningHeaders(['a\r\nX-Other: b\u0000\u007f\u001b[31m'])).toEqual(['299 - "a X-Other: b [31m"']);
    expect(warningHeaders(['half \ud83d'])[0]).toMatch(/^299 - "half [\u0080-\u00ff]+"$/);
  });

  it('is truncated if all warnings together are long', () => {
    const long = 'x'.repeat(4000);
    expect(warningHeaders([long])[0]).toContain(long);
    expect(warningHeaders([long, 'y'.repeat(200)]).map((text) => text.length)).toEqual([256 + 8, 200 + 8]);
  });
});

describe('a tenant whose objects cause warnings', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const create = (fields: object) =>
    server.call('/api/v1/namespaces/default/configmaps', { method: 'POST', body: { metadata: { generateName: 'a-' }, ...fields } });

  it('gets their text unchanged', async () => {
    const { headers } = await create({ 'a€b': 1 });
    expect(Buffer.from(String(headers['warning']), 'latin1').toString()).toBe('299 - "unknown field \\"a€b\\""');
  });

  it('cannot crash the server with them', async () => {
    for (const name of ['a€b', 'a\u0001b', 'a\u007f', 'a\ud800', 'a\r\nX: y']) expect((await create({ [name]: 1 })).code).toBe(201);
    expect((await server.call('/readyz')).code).toBe(200);
  });

  it('gets no more of them than clients accept', async () => {
    const finalizers = Array.from({ length: 19_000 }, (_, index) => `finalizer-${index}.example.com`);
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'things.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Cluster',
        names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    };
    await server.call('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body: definition });
    await expect.poll(async () => (await server.call('/apis/example.com/v1/things')).code, { timeout: 5000 }).toBe(200);
    const spec = Object.fromEntries(finalizers.map((name) => [name, 1]));
    const thing = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a', finalizers }, ...spec };
    const { code, headers } = await server.call('/apis/example.com/v1/things', { method: 'POST', body: thing });
    expect(code).toBe(201);
    expect(String(headers['warning']).length).toBeLessThan(16_000);
  });
});
