import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
const configMaps = '/api/v1/namespaces/default/configmaps';
const deeps = '/apis/nesting.example.com/v1/namespaces/default/deeps';

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'deeps.nesting.example.com' },
  spec: {
    group: 'nesting.example.com',
    scope: 'Namespaced',
    names: { kind: 'Deep', plural: 'deeps' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        additionalPrinterColumns: [{ name: 'Value', type: 'string', jsonPath: '.spec.value' }],
        schema: {
          openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } },
        },
      },
    ],
  },
};

beforeAll(async () => {
  server = await startTestServer();
  await server.call('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body: definition });
  await vi.waitFor(async () => expect((await server.call(deeps)).code).toBe(200));
  await server.call(configMaps, { method: 'POST', body: { metadata: { name: 'plain' } } });
});
afterAll(() => server[Symbol.asyncDispose]());

const lists = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const maps = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

const send = (method: string, path: string, sent: { type: string; body: string }): Promise<Reply> =>
  server.call(path, { method, headers: { 'content-type': `application/${sent.type}` }, body: sent.body });
const deep = (name: string, value: string): string =>
  `{"apiVersion":"nesting.example.com/v1","kind":"Deep","metadata":{"name":"${name}"},"spec":{"value":${value}}}`;

describe.each([1100, 5000, 10_001, 90_000])('a body nested %d levels deep', (levels) => {
  it('is not recognized', async () => {
    const reply = await send('POST', configMaps, { type: 'json', body: `{"metadata":{"name":"x"},"zzz":${maps(levels)}}` });
    expect(reply.code).toBe(400);
    expect(reply.json().message).toBe(
      `the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character '{' exceeded max depth ({"metadata":{"name":"x"},"zzz" ...)`,
    );
  });

  it('is not recognized in YAML', async () => {
    const reply = await send('POST', deeps, { type: 'yaml', body: deep('x', lists(levels)) });
    expect(reply.code).toBe(400);
    expect(reply.json().message).toContain('yaml: exceeded max depth of 1000');
  });

  it.each([
    ['merge-patch+json', `{"spec":${lists(levels)}}`, "error decoding patch: invalid character '[' exceeded max depth"],
    [
      'json-patch+json',
      `[{"op":"add","path":"/spec","value":${lists(levels)}}]`,
      "error decoding patch: invalid character '[' exceeded max depth",
    ],
    ['strategic-merge-patch+json', `{"spec":${maps(levels)}}`, "invalid character '{' exceeded max depth"],
    [
      'apply-patch+yaml',
      `{"apiVersion":"v1","kind":"ConfigMap","spec":${maps(levels)}}`,
      'error decoding YAML: error converting YAML to JSON: yaml: exceeded max depth of 1000',
    ],
  ])('is not a valid %s', async (type, body, message) => {
    const reply = await send('PATCH', `${configMaps}/plain?fieldManager=test`, { type, body });
    expect([reply.code, reply.json().message]).toEqual([400, message]);
  });
});

describe.each([
  ['lists', lists],
  ['maps', maps],
] as const)('an object with 580 nested %s', (name, nested) => {
  const value = nested(580);
  const path = `${deeps}/${name}`;

  it('is accepted', async () => {
    const reply = await send('POST', deeps, { type: 'json', body: deep(name, value) });
    expect(reply.code).toBe(201);
    expect(reply.text).toContain(value);
  });

  it.each([
    ['application/json'],
    ['application/yaml'],
    ['application/json;as=Table;v=v1;g=meta.k8s.io'],
    ['application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'],
  ])('is read and listed as %s', async (accept) => {
    expect((await server.call(path, { headers: { accept } })).code).toBe(200);
    expect((await server.call(`${path}?pretty=true`, { headers: { accept } })).code).toBe(200);
    const ofMany = accept.replace('PartialObjectMetadata', 'PartialObjectMetadataList');
    expect((await server.call(deeps, { headers: { accept: ofMany } })).code).toBe(200);
  });

  it('is watched', async () => {
    const reply = await server.call(`${deeps}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D${name}`);
    expect(reply.text).toContain(value);
  });

  it.each([
    ['merge-patch+json', '{"metadata":{"labels":{"merged":"yes"}}}'],
    ['json-patch+json', '[{"op":"add","path":"/metadata/annotations","value":{"patched":"yes"}}]'],
    ['apply-patch+yaml', `{"apiVersion":"nesting.example.com/v1","kind":"Deep","metadata":{"name":"${name}","labels":{"applied":"yes"}}}`],
  ])('is patched with a %s', async (type, body) => {
    const reply = await send('PATCH', `${path}?fieldManager=test`, { type, body });
    expect(reply.code).toBe(200);
    expect(reply.text).toContain(value);
  });

  it('is replaced and deleted', async () => {
    const now = await server.call(path);
    expect((await send('PUT', path, { type: 'json', body: now.text.replace('"merged":"yes"', '"merged":"no"') })).code).toBe(200);
    expect((await server.call(path, { method: 'DELETE' })).code).toBe(200);
  });
});
