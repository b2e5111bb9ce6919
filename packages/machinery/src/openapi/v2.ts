import type { Json, JsonObject } from '../json.ts';
import { collectSchemas, collectShared } from './collect.ts';
import { type Operation, type PathItem, pathsOf } from './operations.ts';
import { parameters } from './parameters.ts';
import { documentText, type Layout, type Part } from './parts.ts';
import { type OpenApiResource, schemaNameOf } from './resource.ts';
import { SchemaCollector } from './schema.ts';
import { type DocumentInfo, mediaTypes, patchTypes } from './v3.ts';

/** A single document for everything that is served, in pieces of text, for clients that predate version 3. */
export function openapiV2(resources: Iterable<OpenApiResource>, info: DocumentInfo): Generator<string> {
  return documentText(openapiV2Parts(resources), openapiV2Layout(info));
}

export function openapiV2Layout(info: DocumentInfo): Layout {
  return {
    before: { swagger: '2.0', info: { ...info } },
    opening: '"definitions":{',
    after: {
      parameters: Object.fromEntries(Object.keys(parameters).map((name) => [name, parameter(name)])),
      securityDefinitions: { BearerToken: { type: 'apiKey', description: 'Bearer token', name: 'authorization', in: 'header' } },
      security: [{ BearerToken: [] }],
    },
    closing: '',
  };
}

export function* openapiV2Parts(resources: Iterable<OpenApiResource>): Generator<Part> {
  const schemas = new SchemaCollector('v2');
  collectShared(schemas);
  for (const resource of resources) {
    collectSchemas(schemas, simplify(resource));
    if (takesAnything(resource)) keepOpen(schemas, resource);
    for (const item of pathsOf(resource)) yield { section: 'paths', name: item.path, value: pathItem(item, schemas) };
  }
  for (const [name, value] of schemas.collected()) yield { section: 'schemas', name, value };
}

function pathItem({ operations, parameters: names }: PathItem, schemas: SchemaCollector): JsonObject {
  const item: JsonObject = {};
  for (const operation of operations) item[operation.method] = render(operation, schemas);
  item['parameters'] = names.map(parameterReference);
  return item;
}

function render(operation: Operation, schemas: SchemaCollector): JsonObject {
  const { group, version, kind } = operation.kind;
  const schema = schemas.referenceTo(operation.gives);
  const responses: JsonObject = {};
  for (const code of operation.codes)
    responses[String(code)] = { description: code === 200 ? 'OK' : code === 201 ? 'Created' : 'Accepted', schema };
  responses['401'] = { description: 'Unauthorized' };
  return {
    consumes: operation.body === 'patch' ? patchTypes(operation.builtIn) : ['*/*'],
    produces: mediaTypes(operation),
    schemes: ['https'],
    tags: [operation.tag],
    operationId: operation.id,
    parameters: [...bodyParameter(operation, schemas), ...operation.parameters.map(parameterReference)],
    responses,
    'x-kubernetes-action': operation.action,
    'x-kubernetes-group-version-kind': { group, version, kind },
  };
}

function bodyParameter({ body, takes }: Operation, schemas: SchemaCollector): JsonObject[] {
  if (body === undefined) return [];
  return [{ name: 'body', in: 'body', ...(body !== 'deleteOptions' && { required: true }), schema: schemas.referenceTo(takes) }];
}

/** Clients look for these two by name in the operation itself, without following references. */
const inPlace = new Set(['dryRun', 'fieldValidation']);

function parameterReference(name: string): JsonObject {
  return inPlace.has(name) ? parameter(name) : { $ref: `#/parameters/${name}` };
}

function parameter(name: string): JsonObject {
  const { in: place, type, description } = parameters[name]!;
  return { name, in: place, description, ...(place === 'path' && { required: true }), type, uniqueItems: true };
}

function takesAnything({ schema }: OpenApiResource): boolean {
  return schema.kind === 'json' && schema.schema['x-kubernetes-preserve-unknown-fields'] === true;
}

/** Describes nothing of a kind that preserves unknown fields, not even its metadata: clients would reject fields that are not listed. */
function keepOpen(schemas: SchemaCollector, resource: OpenApiResource): void {
  const name = schemaNameOf(resource);
  schemas.add(name, { type: 'object' });
  schemas.markKind(name, resource);
  schemas.markSelectable(name, resource.selectableFields ?? []);
}

function simplify(resource: OpenApiResource): OpenApiResource {
  if (resource.schema.kind !== 'json') return resource;
  return { ...resource, schema: { kind: 'json', schema: withoutV3(resource.schema.schema) as JsonObject } };
}

/** Removes features that version 2 lacks. A value that may be null or of several types loses its type, so that no client rejects it. */
function withoutV3(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutV3);
  if (typeof schema !== 'object' || schema === null) return schema;
  const loose =
    schema['nullable'] === true || schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const kept: [string, Json][] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (['oneOf', 'anyOf', 'allOf', 'not', 'nullable', 'default'].includes(key)) continue;
    if (loose && ['type', 'items', 'properties', 'format'].includes(key)) continue;
    if (key === 'properties')
      kept.push([key, Object.fromEntries(Object.entries(value as JsonObject).map(([name, inner]) => [name, withoutV3(inner)]))]);
    else kept.push([key, key === 'items' || key === 'additionalProperties' ? withoutV3(value) : value]);
  }
  return Object.fromEntries(kept);
}
