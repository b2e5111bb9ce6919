import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../json.ts';
import { decodeMessage } from '../proto/decode.ts';
import type { ObjectType, Type } from '../schema/type.ts';
import { builtinOpenApiResources, type OpenApiResource } from './resource.ts';
import * as v2 from './v2.ts';
import { openapiV2Protobuf } from './v2-protobuf.ts';
import * as v3 from './v3.ts';

const info = { title: 'Capstan', version: '1.34' };
const all = builtinOpenApiResources();
const ofGroup = (group: string): OpenApiResource[] => all.filter((resource) => resource.group === group);

const custom: OpenApiResource = {
  group: 'example.com',
  version: 'v1',
  kind: 'Foo',
  listKind: 'FooList',
  resource: 'foos',
  namespaced: true,
  verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
  subresources: [{ name: 'status', group: 'example.com', version: 'v1', kind: 'Foo', verbs: ['get', 'update', 'patch'] }],
  schema: {
    kind: 'json',
    schema: {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: {
            a: { type: 'string', nullable: true },
            i: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
          },
        },
      },
    },
  },
};

const read = (pieces: Iterable<string>): JsonObject => JSON.parse([...pieces].join('')) as JsonObject;
const openapiV2 = (resources: OpenApiResource[], about: v3.DocumentInfo): JsonObject => read(v2.openapiV2(resources, about));
const openapiV3 = (resources: OpenApiResource[], about: v3.DocumentInfo): JsonObject => read(v3.openapiV3(resources, about));

function at(value: Json, ...path: string[]): Json {
  return path.reduce((inner, key) => (inner as JsonObject)[key]!, value);
}

/** Every `$ref` of the document. */
function references(value: Json, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found;
  if (!Array.isArray(value) && typeof value['$ref'] === 'string') found.add(value['$ref']);
  for (const inner of Object.values(value)) references(inner, found);
  return found;
}

describe('openapiV3', () => {
  const apps = openapiV3(ofGroup('apps'), info);

  it('lets kubectl discover support for dry run and field validation', () => {
    const patch = at(apps, 'paths', '/apis/apps/v1/namespaces/{namespace}/deployments/{name}', 'patch') as JsonObject;
    expect(patch['x-kubernetes-group-version-kind']).toEqual({ group: 'apps', version: 'v1', kind: 'Deployment' });
    expect(patch['x-kubernetes-action']).toBe('patch');
    expect((patch['parameters'] as JsonObject[]).map(({ name }) => name)).toEqual(['dryRun', 'fieldManager', 'fieldValidation', 'force']);
    expect(Object.keys(at(patch, 'requestBody', 'content') as JsonObject)).toContain('application/strategic-merge-patch+json');
  });

  it('names operations as Kubernetes does', () => {
    const id = (path: string, method: string): Json => at(apps, 'paths', path, method, 'operationId');
    const one = '/apis/apps/v1/namespaces/{namespace}/deployments';
    expect(id('/apis/apps/v1/deployments', 'get')).toBe('listAppsV1DeploymentForAllNamespaces');
    expect(id(one, 'post')).toBe('createAppsV1NamespacedDeployment');
    expect(id(one, 'delete')).toBe('deleteAppsV1CollectionNamespacedDeployment');
    expect(id(`${one}/{name}`, 'put')).toBe('replaceAppsV1NamespacedDeployment');
    expect(id(`${one}/{name}/scale`, 'get')).toBe('readAppsV1NamespacedDeploymentScale');
  });

  it('marks kinds, lists and the kinds of subresources', () => {
    const kinds = (name: string): Json => at(apps, 'components', 'schemas', name, 'x-kubernetes-group-version-kind');
    expect(kinds('io.k8s.api.apps.v1.Deployment')).toEqual([{ group: 'apps', kind: 'Deployment', version: 'v1' }]);
    expect(kinds('io.k8s.api.apps.v1.DeploymentList')).toEqual([{ group: 'apps', kind: 'DeploymentList', version: 'v1' }]);
    expect(kinds('io.k8s.api.autoscaling.v1.Scale')).toEqual([{ group: 'autoscaling', kind: 'Scale', version: 'v1' }]);
  });

  it('describes list merging, required fields and defaults', () => {
    const core = openapiV3(ofGroup(''), info);
    const container = at(core, 'components', 'schemas', 'io.k8s.api.core.v1.Container') as JsonObject;
    expect(container['required']).toEqual(['name']);
    expect(at(container, 'properties', 'ports')).toEqual({
      type: 'array',
      items: { $ref: '#/components/schemas/io.k8s.api.core.v1.ContainerPort' },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['containerPort', 'protocol'],
      'x-kubernetes-patch-merge-key': 'containerPort',
      'x-kubernetes-patch-strategy': 'merge',
    });
    expect(at(core, 'components', 'schemas', 'io.k8s.api.core.v1.ContainerPort', 'properties', 'protocol')).toEqual({
      type: 'string',
      default: 'TCP',
    });
    expect(at(container, 'properties', 'resources')).toEqual({
      allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.ResourceRequirements' }],
      default: {},
    });
  });

  it.each(['', 'apps', 'apiextensions.k8s.io', 'authorization.k8s.io'])('has no dangling references (group %j)', (group) => {
    const document = openapiV3(ofGroup(group), info);
    for (const reference of references(document)) expect(at(document, ...reference.slice(2).split('/'))).toBeDefined();
  });

  it('has no empty schemas, which break kubectl explain', () => {
    const document = openapiV3(ofGroup('apiextensions.k8s.io'), info);
    const props = at(
      document,
      'components',
      'schemas',
      'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps',
      'properties',
    ) as JsonObject;
    for (const [name, schema] of Object.entries(props)) expect(schema, name).not.toEqual({});
    for (const [name, schema] of Object.entries(at(document, 'components', 'schemas') as JsonObject)) expect(schema, name).not.toEqual({});
  });

  it('describes what users look up', () => {
    const document = openapiV3(ofGroup(''), info);
    expect(at(document, 'components', 'schemas', 'io.k8s.api.core.v1.ConfigMap', 'description')).toBe(
      'Configuration data for programs to read.',
    );
    expect(
      at(document, 'components', 'schemas', 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta', 'properties', 'labels', 'description'),
    ).toContain('select');
  });

  it('includes custom kinds with their own schema', () => {
    const document = openapiV3([custom], info);
    const schema = at(document, 'components', 'schemas', 'com.example.v1.Foo') as JsonObject;
    expect(Object.keys(schema['properties'] as JsonObject).sort()).toEqual(['apiVersion', 'kind', 'metadata', 'spec']);
    expect(at(document, 'components', 'schemas', 'com.example.v1.FooList', 'x-kubernetes-group-version-kind')).toEqual([
      { group: 'example.com', kind: 'FooList', version: 'v1' },
    ]);
    const patch = at(document, 'paths', '/apis/example.com/v1/namespaces/{namespace}/foos/{name}', 'patch', 'requestBody', 'content');
    expect(Object.keys(patch as JsonObject)).not.toContain('application/strategic-merge-patch+json');
    expect(at(document, 'paths', '/apis/example.com/v1/namespaces/{namespace}/foos/{name}/status', 'put', 'operationId')).toBe(
      'replaceExampleComV1NamespacedFooStatus',
    );
    for (const reference of references(document)) expect(at(document, ...reference.slice(2).split('/'))).toBeDefined();
  });
});

describe('openapiV2', () => {
  const document = openapiV2([...all, custom], info);

  it('has no dangling references', () => {
    for (const reference of references(document)) expect(at(document, ...reference.slice(2).split('/'))).toBeDefined();
  });

  it('drops schema features that version 2 lacks', () => {
    const spec = at(document, 'definitions', 'com.example.v1.Foo', 'properties', 'spec', 'properties');
    expect(spec).toEqual({ a: {}, i: { 'x-kubernetes-int-or-string': true } });
    expect(at(document, 'definitions', 'io.k8s.apimachinery.pkg.api.resource.Quantity')).toEqual({ type: 'string' });
  });

  it('refers to FieldsV1 by name', () => {
    const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';
    const field = at(document, 'definitions', `${meta}.ManagedFieldsEntry`, 'properties', 'fieldsV1') as { $ref?: string };
    expect(field.$ref).toBe(`#/definitions/${meta}.FieldsV1`);
    expect(at(document, 'definitions', `${meta}.FieldsV1`)).toMatchObject({ type: 'object' });
  });

  it('leaves kinds that preserve unknown fields open', () => {
    const open = { ...custom, schema: { kind: 'json' as const, schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } };
    expect(at(openapiV2([open], info), 'definitions', 'com.example.v1.Foo')).toEqual({
      type: 'object',
      'x-kubernetes-group-version-kind': [{ group: 'example.com', kind: 'Foo', version: 'v1' }],
    });
  });

  it('lists the selectable fields of custom kinds and their lists', () => {
    const selectable = { ...custom, selectableFields: ['spec.a', 'spec.i'] };
    const expected = [{ fieldPath: 'spec.a' }, { fieldPath: 'spec.i' }];
    for (const name of ['com.example.v1.Foo', 'com.example.v1.FooList']) {
      expect(at(openapiV2([selectable], info), 'definitions', name, 'x-kubernetes-selectable-fields')).toEqual(expected);
      expect(at(openapiV3([selectable], info), 'components', 'schemas', name, 'x-kubernetes-selectable-fields')).toEqual(expected);
      expect(at(openapiV3([custom], info), 'components', 'schemas', name)).not.toHaveProperty('x-kubernetes-selectable-fields');
    }
  });

  it('has the two parameters that clients look for inline in the operation', () => {
    const patch = at(document, 'paths', '/api/v1/namespaces/{namespace}/configmaps/{name}', 'patch', 'parameters') as JsonObject[];
    expect(patch.map(({ name }) => name).filter((name) => name !== undefined)).toEqual(['body', 'dryRun', 'fieldValidation']);
  });

  it('is equivalent in protobuf', () => {
    const decoded = decodeMessage(Buffer.concat([...openapiV2Protobuf([...all, custom], info)]), documentType);
    const paths = at(decoded, 'paths', 'path') as JsonObject[];
    expect(paths.map(({ name }) => name)).toEqual(Object.keys(document['paths'] as JsonObject));
    const configMaps = paths.find(({ name }) => name === '/api/v1/namespaces/{namespace}/configmaps/{name}')!;
    expect(at(configMaps, 'value', 'patch')).toMatchObject({
      operationId: 'patchCoreV1NamespacedConfigMap',
      vendorExtension: [
        { name: 'x-kubernetes-action', value: { yaml: 'patch\n' } },
        { name: 'x-kubernetes-group-version-kind', value: { yaml: 'group: ""\nkind: ConfigMap\nversion: v1\n' } },
      ],
    });
    const definitions = at(decoded, 'definitions', 'additionalProperties') as JsonObject[];
    expect(definitions.map(({ name }) => name)).toEqual(Object.keys(document['definitions'] as JsonObject));
    expect(definitions.find(({ name }) => name === 'io.k8s.api.core.v1.ContainerPort')!['value']).toMatchObject({
      required: ['containerPort'],
      type: { value: ['object'] },
    });
  });
});

/** Enough of gnostic's messages to decode a document. */
const text: Type = { kind: 'scalar', scalar: 'string' };
const list = (items: Type): Type => ({ kind: 'list', items, listType: 'atomic', keys: [] });

function message(name: string, fields: Record<string, [number, Type]>): ObjectType {
  const entries = Object.entries(fields).map(
    ([field, [number, type]]) => [field, { name: field, type, required: false, proto: { number } }] as const,
  );
  return { kind: 'object', name, fields: new Map(entries), atomic: false, preserveUnknown: false };
}

const named = (value: Type): Type => list(message('Named', { name: [1, text], value: [2, value] }));
const extensions = named(message('Any', { yaml: [2, text] }));
const operationType = message('Operation', { operationId: [5, text], vendorExtension: [13, extensions] });
const schemaType = message('Schema', {
  required: [19, list(text)],
  type: [22, message('TypeItem', { value: [1, list(text)] })],
  vendorExtension: [31, extensions],
});
const documentType = message('Document', {
  swagger: [1, text],
  paths: [8, message('Paths', { path: [2, named(message('PathItem', { patch: [8, operationType] }))] })],
  definitions: [9, message('Definitions', { additionalProperties: [1, named(schemaType)] })],
});
