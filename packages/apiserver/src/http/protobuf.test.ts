import { builtinTypes, decodeMessage, decodeProtobuf, type JsonObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

describe('a client that takes protobuf alone', () => {
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
  ])('gets %s in it', async (_what, path, shape, type) => {
    const reply = await server.call(path, { headers: { accept: `${protobuf}${shape}` } });
    expect(reply.headers['content-type']).toBe(protobuf);
    const json = await server.call(path, { headers: { accept: `application/json${shape}` } });
    expect(reply.code).toBe(json.code);
    expect(read(reply.body, type).object).toEqual(withoutType(json.text));
  });

  test('gets a watch as frames that say how long they are', async () => {
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

  test('is refused what has none', async () => {
    const table = await server.call(pods, { headers: { accept: `${protobuf};as=Table;v=v1;g=meta.k8s.io` } });
    expect([table.code, table.json().reason]).toEqual([406, 'NotAcceptable']);
  });

  test('gets JSON, which is kept ready, when it takes that too', async () => {
    const reply = await server.call(`${pods}/p`, { headers: { accept: `${protobuf},application/json` } });
    expect(reply.headers['content-type']).toBe('application/json');
  });
});

test('errors come as what the client takes', async () => {
  const reply = await server.call(`${pods}/none`, { headers: { accept: 'application/yaml' } });
  expect(reply.text).toContain('reason: NotFound\n');
});

test('metadata of a list is asked for as a list', async () => {
  const partial = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
  const list = await server.call(pods, { headers: { accept: partial } });
  expect(list.json().message).toBe('you requested PartialObjectMetadata, but the requested object is a list (*core.PodList)');
  const one = await server.call(`${pods}/p`, { headers: { accept: partial.replace('Metadata', 'MetadataList') } });
  expect(one.json().message).toBe('you requested PartialObjectMetadataList, but the requested object is not a list (*core.Pod)');
});
