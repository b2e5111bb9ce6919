import type { JsonObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));

function define(name: string, spec: JsonObject): Promise<Reply> {
  const openAPIV3Schema = { type: 'object', properties: { spec } };
  return server.call(definitions, {
    method: 'POST',
    body: {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${name}s.example.com` },
      spec: {
        group: 'example.com',
        names: { plural: `${name}s`, kind: `${name[0]!.toUpperCase()}${name.slice(1)}` },
        scope: 'Namespaced',
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
      },
    },
  });
}

async function create(name: string, spec: JsonObject): Promise<Reply> {
  const path = `/apis/example.com/v1/namespaces/default/${name}s`;
  await vi.waitFor(async () => expect((await server.call(path)).code).toBe(200), 10_000);
  const kind = `${name[0]!.toUpperCase()}${name.slice(1)}`;
  return server.call(path, { method: 'POST', body: { apiVersion: 'example.com/v1', kind, metadata: { name: 'a' }, spec } });
}

describe('a definition that causes much work', () => {
  it('has rules whose work is counted, even if they cost little in Kubernetes', async () => {
    const rule = `self.list${'.map(x, [x, x])'.repeat(24)} == self.list${'.map(x, [x, x])'.repeat(24)}`;
    const list = { type: 'array', maxItems: 1, items: { type: 'string', maxLength: 5 } };
    expect((await define('sharing', { type: 'object', properties: { list }, 'x-kubernetes-validations': [{ rule }] })).code).toBe(201);
    const reply = await create('sharing', { list: ['a'] });
    expect([reply.code, reply.json().message]).toEqual([422, expect.stringContaining('call cost exceeds limit for rule')]);
  });

  it('may not have patterns that take long to compile', async () => {
    const properties = Object.fromEntries(many(300, (index) => [`p${index}`, { type: 'string', pattern: `(?i)x{900}${index}` }]));
    const reply = await define('pattern', { type: 'object', properties });
    expect([reply.code, reply.json().message]).toEqual([422, expect.stringContaining('patterns take too long to compile')]);
    const single = await define('giant', { type: 'object', properties: { a: { type: 'string', pattern: 'x{900}y'.repeat(100) } } });
    expect([single.code, single.json().message]).toEqual([422, expect.stringContaining('expression too large')]);
  });

  it('has patterns that are not searched for in texts that are too long for them', async () => {
    const pattern = '(?i)(a|b)*a(a|b){200}c';
    expect((await define('search', { type: 'object', properties: { text: { type: 'string', pattern } } })).code).toBe(201);
    const reply = await create('search', { text: 'ab'.repeat(100_000) });
    expect([reply.code, reply.json().message]).toEqual([422, expect.stringContaining('patterns of the schema take too long')]);
    expect((await create('search', { text: 'ab' })).code).toBe(422);
  });

  it('has defaults that are checked within one budget', async () => {
    const slow = { rule: 'self.all(a, self.all(b, self.all(c, a + b + c >= 0)))' };
    const list = {
      type: 'array',
      maxItems: 60,
      items: { type: 'integer' },
      default: many(60, (index) => index),
      'x-kubernetes-validations': [slow],
    };
    const properties = Object.fromEntries(many(30, (index) => [`p${index}`, list]));
    const reply = await define('default', { type: 'object', properties });
    expect([reply.code, reply.json().message]).toEqual([422, expect.stringMatching(/running out of cost budget|take too long to check/)]);
  });
});
