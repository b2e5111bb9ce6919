import { gunzipSync } from 'node:zlib';
import {
  builtinOpenApiResources,
  type OpenApiResource,
  openapiV2,
  openapiV2Protobuf,
  openapiV3,
  openapiV3Index,
  openapiV3Path,
} from '@capstan/machinery';
import { describe, expect, it } from 'vitest';
import type { PackedDocument } from '../http/packing.ts';
import { OpenApiDocuments } from './documents.ts';

const info = { title: 'Capstan', version: '1.34' };
const all = builtinOpenApiResources();

const custom: OpenApiResource = {
  group: 'example.com',
  version: 'v1',
  kind: 'Foo',
  listKind: 'FooList',
  resource: 'foos',
  namespaced: true,
  verbs: ['get', 'list', 'create'],
  subresources: [],
  schema: { kind: 'json', schema: { type: 'object', properties: { spec: { type: 'object' } } } },
};

describe('OpenApiDocuments', () => {
  const options = { ...info, revision: '1', capacity: 2 };

  it('builds a document once per key, even for concurrent requests, and evicts the least recently used', async () => {
    const documents = new OpenApiDocuments(options);
    let made = 0;
    const resources = (): OpenApiResource[] => {
      made++;
      return [custom];
    };
    const first = documents.v3('a', resources);
    expect(documents.v3('a', resources)).toBe(first);
    await first;
    await documents.v3('b', resources);
    await documents.v3('a', resources);
    await documents.v3('c', resources);
    expect(made).toBe(3);
    expect(documents.v3('a', resources)).toBe(first);
    await documents.v3('b', resources);
    expect(made).toBe(4);
  });

  it('compresses the concatenated pieces', async () => {
    const documents = new OpenApiDocuments(options);
    const resources = (): OpenApiResource[] => [...all, custom];
    const unpacked = async (document: Promise<PackedDocument>): Promise<Buffer> => {
      const { packed, length } = await document;
      const bytes = gunzipSync(packed);
      expect(bytes.length).toBe(length);
      return bytes;
    };
    expect((await unpacked(documents.v2('k', resources))).toString()).toBe([...openapiV2(resources(), info)].join(''));
    expect((await unpacked(documents.v3('k', resources))).toString()).toBe([...openapiV3(resources(), info)].join(''));
    expect((await unpacked(documents.v2Protobuf('k', resources))).equals(Buffer.concat([...openapiV2Protobuf(resources(), info)]))).toBe(
      true,
    );
  });

  it('yields to other work while it builds a large document', async () => {
    const many = function* (): Generator<OpenApiResource> {
      for (let index = 0; index < 400; index++)
        yield { ...custom, kind: `Foo${index}`, listKind: `Foo${index}List`, resource: `foos${index}` };
    };
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    await new OpenApiDocuments(options).v2('many', many);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(2);
  });

  it('tries again after a failure', async () => {
    const documents = new OpenApiDocuments(options);
    const broken = (): never => {
      throw new Error('cannot be read');
    };
    await expect(
      documents.v3('a', function* () {
        yield custom;
        broken();
      }),
    ).rejects.toThrow('cannot be read');
    expect((await documents.v3('a', () => [custom])).length).toBeGreaterThan(0);
  });

  it('lists documents with hashes that differ when they do', () => {
    const documents = new OpenApiDocuments(options);
    const hash = documents.hash('a');
    expect(hash).toMatch(/^[0-9A-F]{128}$/);
    expect(documents.hash('b')).not.toBe(hash);
    expect(new OpenApiDocuments({ ...options, revision: '2' }).hash('a')).not.toBe(hash);
    expect(openapiV3Index(new Map([[openapiV3Path({ group: '', version: 'v1' }), hash]]))).toEqual({
      paths: { 'api/v1': { serverRelativeURL: `/openapi/v3/api/v1?hash=${hash}` } },
    });
    expect(openapiV3Path(custom)).toBe('apis/example.com/v1');
  });
});
