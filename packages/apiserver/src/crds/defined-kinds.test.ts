import { customResourceDefinition, definedKinds } from '@capstan/api';
import { apiResourceSchema } from '@capstan/api/hashes';
import { sampleKind } from '@capstan/api/testing';
import { compileSchema, fieldsOf, itemsOf, type JsonObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';
import { asDefinition } from '../workspaces/kinds/bound-definitions.ts';
import { isOwnSchema } from './own-schemas.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

describe.each([sampleKind, ...definedKinds])('the definition of $kind', (definition) => {
  test('is accepted as an APIResourceSchema and stored without changes', async () => {
    const schema = apiResourceSchema(definition);
    const created = await server.call('/clusters/root/apis/apis.kcp.io/v1alpha1/apiresourceschemas', { method: 'POST', body: schema });
    expect(created.text).toContain('"resourceVersion"');
    expect(created.headers['warning']).toBeUndefined();
    expect(created.json()['spec']).toMatchObject({ ...(schema['spec'] as object) });
    // As bindings use it.
    const versions = itemsOf(fieldsOf(asDefinition(created.json())['spec'])['versions']);
    const isOwn = versions.map(({ schema: held }) => isOwnSchema(compileSchema(fieldsOf(held)['openAPIV3Schema'] as JsonObject)));
    expect(isOwn).toEqual(versions.map(() => definition !== sampleKind));
  });

  test('is accepted as a CustomResourceDefinition', async () => {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const created = await server.call(path, { method: 'POST', body: customResourceDefinition(definition) });
    expect(created.text).toContain('"resourceVersion"');
    expect(created.headers['warning']).toBeUndefined();
  });
});
