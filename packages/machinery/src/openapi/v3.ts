import type { Json, JsonObject } from '../json.ts';
import { collectSchemas, collectShared } from './collect.ts';
import { type Operation, type PathItem, pathsOf } from './operations.ts';
import { parameters } from './parameters.ts';
import { documentText, type Part } from './parts.ts';
import type { OpenApiResource } from './resource.ts';
import { SchemaCollector } from './schema.ts';

export interface DocumentInfo {
  readonly title: string;
  readonly version: string;
}

/** The document of one group and version, in pieces of text; all resources must belong to it. */
export function openapiV3(resources: Iterable<OpenApiResource>, info: DocumentInfo): Generator<string> {
  return documentText(partsOf(resources), {
    before: { openapi: '3.0.0', info: { ...info } },
    opening: '"components":{"schemas":{',
    after: { securitySchemes: { BearerToken: { type: 'apiKey', description: 'Bearer token', name: 'authorization', in: 'header' } } },
    closing: '}',
  });
}

function* partsOf(resources: Iterable<OpenApiResource>): Generator<Part> {
  const schemas = new SchemaCollector('v3');
  collectShared(schemas);
  for (const resource of resources) {
    collectSchemas(schemas, resource);
    for (const item of pathsOf(resource)) yield { section: 'paths', name: item.path, value: pathItem(item, schemas) };
  }
  for (const [name, value] of schemas.collected()) yield { section: 'schemas', name, value };
}

function pathItem({ operations, parameters: names }: PathItem, schemas: SchemaCollector): JsonObject {
  const item: JsonObject = {};
  for (const operation of operations) item[operation.method] = render(operation, schemas);
  item['parameters'] = names.map(parameter);
  return item;
}

function render(operation: Operation, schemas: SchemaCollector): JsonObject {
  const { group, version, kind } = operation.kind;
  const body = requestBody(operation, schemas);
  return {
    tags: [operation.tag],
    operationId: operation.id,
    ...(operation.parameters.length > 0 && { parameters: operation.parameters.map(parameter) }),
    ...(body !== undefined && { requestBody: body }),
    responses: responses(operation, schemas),
    'x-kubernetes-action': operation.action,
    'x-kubernetes-group-version-kind': { group, version, kind },
  };
}

function requestBody({ body, takes, builtIn }: Operation, schemas: SchemaCollector): JsonObject | undefined {
  if (body === undefined) return undefined;
  const schema = schemas.referenceTo(takes);
  const types = body === 'patch' ? patchTypes(builtIn) : ['*/*'];
  return { content: content(types, schema), ...(body !== 'deleteOptions' && { required: true }) };
}

export function patchTypes(builtIn: boolean): string[] {
  const types = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];
  return builtIn ? [...types, 'application/strategic-merge-patch+json'] : types;
}

export function mediaTypes({ builtIn, watchable }: Operation): string[] {
  return [
    'application/json',
    ...(watchable ? ['application/json;stream=watch'] : []),
    ...(builtIn ? ['application/vnd.kubernetes.protobuf'] : []),
    ...(builtIn && watchable ? ['application/vnd.kubernetes.protobuf;stream=watch'] : []),
    'application/yaml',
  ];
}

const statusTexts: Record<number, string> = { 200: 'OK', 201: 'Created', 202: 'Accepted' };

function responses(operation: Operation, schemas: SchemaCollector): JsonObject {
  const schema = schemas.referenceTo(operation.gives);
  const result: JsonObject = {};
  for (const code of operation.codes)
    result[String(code)] = { description: statusTexts[code]!, content: content(mediaTypes(operation), schema) };
  result['401'] = { description: 'Unauthorized' };
  return result;
}

function content(types: readonly string[], schema: JsonObject): JsonObject {
  return Object.fromEntries(types.map((type): [string, Json] => [type, { schema }]));
}

function parameter(name: string): JsonObject {
  const { in: place, type, description } = parameters[name]!;
  return { name, in: place, description, ...(place === 'path' && { required: true }), schema: { type, uniqueItems: true } };
}
