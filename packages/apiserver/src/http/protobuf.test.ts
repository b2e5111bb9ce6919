import { builtinTypes, decodeMessage, decodeProtobuf, type JsonObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

const protobuf = 'application/vnd.kubernetes.protobuf';
const pods = '/api/v1/namespaces/default/pods';
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  const made = await server.call(pods, {
    method: 'POST',
    body: {
      metadata: { name: 'p', annotations: { a: 'ü' } },
      spec: {
        containers: [
          { name: 'c', image: 'i', resources: { limits: { cpu: '1500m' } }, readinessProbe: { httpGet: { port: 'http' } } },
          { name: 'd', image: 'i', livenessProbe: { tcpSocket: { port: 80 } }, env: [{ name: 'E', value: '' }] },
        ],
      },
    },
  });
  expect([made.code, made.json().message]).toEqual([201, undefined]);
});
afterAll(() => server[Symbol.asyncDispose]());

interface Read {
  readonly apiVersion: string;
  readonly kind: string;
  readonly object: JsonObject;
}

function read(bytes: Buffer, type: string): Read {
  const { apiVersion, kind, raw } = decodeProtobuf(bytes);
  return { apiVersion, kind, object: decodeMessage(raw, builtinTypes().object(type)) };
}

function withoutType(text: string): JsonObject {
  const { kind: _kind, apiVersion: _version, ...rest } = JSON.parse(text) as JsonObject;
  return rest;
}

describe('a client that accepts only protobuf', () => {
  test.each([
    ['an object', `${pods}/p`, '', 'io.k8s.api.core.v1.Pod'],
    ['a list', `${pods}?fieldSelector=metadata.name%3Dp`, '', 'io.k8s.api.core.v1.PodList'],
    ['an error', `${pods}/none`, '', 'io.k8s.apimachinery.pkg.apis.meta.v1.Status'],
    [
      'the metadata of an object',
      `${pods}/p`,
      ';as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
      'io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata',
    ],
    ['an object of another group', '/apis/rbac.authorization.k8s.io/v1/clusterroles/admin', '', 'io.k8s.api.rbac.v1.ClusterRole'],
  ])('gets %s in protobuf', async (_what, path, shape, type) => {
    const reply = await server.call(path, { headers: { accept: `${protobuf}${shape}` } });
    expect(reply.headers['content-type']).toBe(protobuf);
    const json = await server.call(path, { headers: { accept: `application/json${shape}` } });
    expect(reply.code).toBe(json.code);
    expect(read(reply.body, type).object).toEqual(withoutType(json.text));
  });

  test('gets a watch as length-prefixed frames', async () => {
    const reply = await server.call(`${pods}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dp`, {
      headers: { accept: protobuf },
    });
    expect(reply.headers['content-type']).toBe(`${protobuf};stream=watch`);
    const length = reply.body.readUInt32BE(0);
    expect(reply.body.length).toBe(4 + length);
    const frame = reply.body.subarray(4);
    const prefix = frame.indexOf('k8s\0');
    expect(frame.subarray(0, prefix).toString('latin1')).toContain('ADDED');
    const { kind, object } = read(frame.subarray(prefix), 'io.k8s.api.core.v1.Pod');
    expect([kind, (object['metadata'] as JsonObject)['name']]).toEqual(['Pod', 'p']);
  });

  test('is rejected where there is no protobuf', async () => {
    const table = await server.call(pods, { headers: { accept: `${protobuf};as=Table;v=v1;g=meta.k8s.io` } });
    expect([table.code, table.json().reason]).toEqual([406, 'NotAcceptable']);
  });
});

describe('a client that accepts protobuf and JSON', () => {
  const accept = `${protobuf}, */*`;
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const things = '/apis/wire.example.com/v1/things';

  beforeAll(async () => {
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    await server.call(definitions, {
      method: 'POST',
      body: {
        metadata: { name: 'things.wire.example.com' },
        spec: {
          group: 'wire.example.com',
          scope: 'Cluster',
          names: { kind: 'Thing', plural: 'things' },
          versions: [{ name: 'v1', served: true, storage: true, schema }],
        },
      },
    });
    await vi.waitFor(async () => expect((await server.call(things)).code).toBe(200));
  });

  test.each([
    ['an object', `${pods}/p`, protobuf],
    ['a list', pods, protobuf],
    ['an error', `${pods}/none`, protobuf],
    ['a watch', `${pods}?watch=true&timeoutSeconds=1`, `${protobuf};stream=watch`],
    ['what is served', '/apis', protobuf],
    ['a definition', `${definitions}/things.wire.example.com`, protobuf],
    ['an error about a kind that users added', `${things}/none`, protobuf],
    ['objects of a kind that users added', things, 'application/json'],
    ['a watch of a kind that users added', `${things}?watch=true&timeoutSeconds=1`, 'application/json'],
  ])('gets %s in its first choice that is available', async (_what, path, type) => {
    const reply = await server.call(path, { headers: { accept } });
    expect(reply.headers['content-type']).toBe(type);
  });

  test('gets created custom resources in JSON', async () => {
    const body = { apiVersion: 'wire.example.com/v1', kind: 'Thing', metadata: { name: 't' } };
    const reply = await server.call(things, { method: 'POST', headers: { accept }, body });
    expect([reply.code, reply.headers['content-type'], reply.json().kind]).toEqual([201, 'application/json', 'Thing']);
    expect((await server.call(`${things}/t`, { headers: { accept: protobuf } })).code).toBe(406);
  });

  test('gets long lists in JSON, which needs no encoding', async () => {
    const configMaps = '/api/v1/namespaces/default/configmaps';
    const body = { metadata: { name: 'long', labels: { size: 'long' } }, data: { text: 'x'.repeat(600_000) } };
    await server.call(configMaps, { method: 'POST', body });
    const list = `${configMaps}?labelSelector=size%3Dlong`;
    expect((await server.call(list, { headers: { accept } })).headers['content-type']).toBe('application/json');
    expect((await server.call(list, { headers: { accept: protobuf } })).headers['content-type']).toBe(protobuf);
  });
});

test('errors are sent in the format that the client accepts', async () => {
  const reply = await server.call(`${pods}/none`, { headers: { accept: 'application/yaml' } });
  expect(reply.text).toContain('reason: NotFound\n');
});

test('metadata of a list must be requested as a list', async () => {
  const partial = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
  const list = await server.call(pods, { headers: { accept: partial } });
  expect(list.json().message).toBe('you requested PartialObjectMetadata, but the requested object is a list (*core.PodList)');
  const one = await server.call(`${pods}/p`, { headers: { accept: partial.replace('Metadata', 'MetadataList') } });
  expect(one.json().message).toBe('you requested PartialObjectMetadataList, but the requested object is not a list (*core.Pod)');
});
