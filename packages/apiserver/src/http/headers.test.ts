import type { JsonObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
const things = '/apis/headers.example.com/v1/namespaces/default/things';

beforeAll(async () => {
  server = await startTestServer({ limits: { watches: { overall: 1 } } });
  const schema = { openAPIV3Schema: { type: 'object' } };
  await server.call('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    method: 'POST',
    body: {
      metadata: { name: 'things.headers.example.com' },
      spec: {
        group: 'headers.example.com',
        scope: 'Namespaced',
        names: { kind: 'Thing', plural: 'things' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    },
  });
  await vi.waitFor(async () => expect((await server.call(things)).code).toBe(200));
});
afterAll(() => server[Symbol.asyncDispose]());

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const send = (method: string, path: string, body?: JsonObject): Promise<Reply> => server.call(path, { method, ...(body && { body }) });

describe('every response', () => {
  test.each([
    ['an object', '/api/v1/namespaces/default'],
    ['an error', '/api/v1/namespaces/none'],
    ['what is served', '/apis'],
    ['the version', '/version'],
  ])('carries for %s its date, length, audit id and flow, and forbids caching', async (_what, path) => {
    const { headers, body } = await server.call(path);
    expect(Date.parse(headers['date'] as string)).not.toBeNaN();
    expect(headers['content-length']).toBe(String(body.length));
    expect(headers['audit-id']).toMatch(uuid);
    expect(headers['cache-control']).toBe('no-cache, private');
    expect(headers['x-kubernetes-pf-flowschema-uid']).toMatch(uuid);
    expect(headers['x-kubernetes-pf-prioritylevel-uid']).toMatch(uuid);
  });

  test('to a watch has no length', async () => {
    const { headers } = await server.call('/api/v1/namespaces?watch=true&timeoutSeconds=1');
    expect(headers['audit-id']).toMatch(uuid);
    expect(headers['x-kubernetes-pf-flowschema-uid']).toMatch(uuid);
    expect(headers['content-length']).toBeUndefined();
    expect(headers['transfer-encoding']).toBe('chunked');
  });

  test('has the audit id that the client sent', async () => {
    const { headers } = await server.call('/version', { headers: { 'audit-id': 'my-own-id' } });
    expect(headers['audit-id']).toBe('my-own-id');
  });

  test('to a forbidden request has nosniff', async () => {
    const refused = await server.call('/api/v1/secrets', { anonymous: true });
    expect([refused.code, refused.headers['x-content-type-options']]).toEqual([403, 'nosniff']);
  });

  test('in plain text has nosniff', async () => {
    const found = await server.call('/healthz');
    expect([found.headers['content-type'], found.headers['x-content-type-options']]).toEqual(['text/plain; charset=utf-8', 'nosniff']);
  });

  test('to an unknown token says only that it is unauthorized', async () => {
    const refused = await server.call('/api/v1/namespaces', { anonymous: true, headers: { authorization: 'Bearer nobody' } });
    expect([refused.code, refused.json().reason]).toEqual([401, 'Unauthorized']);
  });

  test('to a request over the limit has a Retry-After', async () => {
    const open = await server.open('/api/v1/configmaps?watch=true');
    const refused = await server.call('/api/v1/configmaps?watch=true');
    open.destroy();
    expect([refused.code, refused.headers['retry-after'], refused.json().reason]).toEqual([429, '1', 'TooManyRequests']);
  });

  test('that varies by request headers names each of them once', async () => {
    const { headers } = await server.call('/openapi/v2', { headers: { 'accept-encoding': 'gzip' } });
    expect([headers['vary'], headers['content-encoding']]).toEqual(['Accept-Encoding, Accept', 'gzip']);
  });
});

describe('HEAD', () => {
  test.each(['/healthz', '/apis', '/openapi/v3'])('of %s has the headers of GET', async (path) => {
    const [head, get] = [await send('HEAD', path), await send('GET', path)];
    expect(head.body).toHaveLength(0);
    for (const name of ['content-type', 'content-length', 'cache-control']) expect(head.headers[name]).toBe(get.headers[name]);
    expect([head.code, head.headers['content-length']]).toEqual([200, String(get.body.length)]);
    expect(head.headers['date']).toBeDefined();
  });

  test.each(['/api/v1/namespaces/default', '/api/v1/namespaces', '/api/v1', '/version'])(
    'of %s is not allowed, as in Kubernetes',
    async (path) => {
      const { code, body, headers } = await send('HEAD', path);
      expect([code, body.length, headers['content-type']]).toEqual([405, 0, 'application/json']);
      expect(Number(headers['content-length'])).toBeGreaterThan(0);
    },
  );
});

describe('a method that a path does not support', () => {
  test.each([
    ['OPTIONS', '/api/v1/namespaces'],
    ['PUT', '/api/v1/namespaces'],
    ['PATCH', '/api/v1/namespaces'],
    ['POST', '/api/v1/namespaces/default'],
    ['POST', '/apis/apps/v1'],
  ])('%s %s is rejected', async (method, path) => {
    const refused = await send(method, path, method === 'OPTIONS' ? undefined : {});
    expect(refused.code).toBe(405);
    expect(refused.json()).toMatchObject({
      reason: 'MethodNotAllowed',
      message: 'the server does not allow this method on the requested resource',
    });
    // Kubernetes does not list the allowed methods either.
    expect(refused.headers['allow']).toBeUndefined();
  });

  test('gets no deprecation warning', async () => {
    expect((await send('PUT', '/api/v1/componentstatuses', {})).headers['warning']).toBeUndefined();
    expect((await send('GET', '/api/v1/componentstatuses')).headers['warning']).toContain('deprecated');
  });

  test('requires a name for custom resources', async () => {
    const thing = { apiVersion: 'headers.example.com/v1', kind: 'Thing', metadata: { name: 'one' } };
    const refused = await send('PUT', things, thing);
    expect([refused.code, refused.json().message]).toEqual([400, 'name must be provided']);
    expect((await send('PATCH', things, {})).code).toBe(415);
    const made = await send('POST', `${things}/other`, thing);
    expect([made.code, made.json().metadata.name]).toEqual([201, 'one']);
  });
});
