import type { JsonObject } from '../json.ts';
import { builtinTypes } from '../schema/table.ts';
import { describe } from './descriptions.ts';
import { deleteOptionsSchema, listSchemaName, listType, patchSchema, statusSchema } from './operations.ts';
import { type OpenApiResource, schemaNameOf } from './resource.ts';
import type { SchemaCollector } from './schema.ts';

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/** Adds the schemas that every document refers to. */
export function collectShared(schemas: SchemaCollector): void {
  const types = builtinTypes();
  for (const name of [statusSchema, deleteOptionsSchema, patchSchema]) schemas.reference(types.object(name));
}

/** Adds every schema that the resource's operations refer to. */
export function collectSchemas(schemas: SchemaCollector, resource: OpenApiResource): void {
  if (resource.schema.kind === 'object') schemas.reference(resource.schema);
  else addCustom(schemas, resource, resource.schema.schema);
  const list = listType(resource);
  if (list !== undefined) schemas.reference(list);
  mark(schemas, resource);
}

function mark(schemas: SchemaCollector, resource: OpenApiResource): void {
  const { group, version, kind, listKind, selectableFields = [] } = resource;
  for (const name of [statusSchema, deleteOptionsSchema])
    schemas.markKind(name, { group, version, kind: name.slice(name.lastIndexOf('.') + 1) });
  schemas.markKind(schemaNameOf(resource), { group, version, kind });
  schemas.markSelectable(schemaNameOf(resource), selectableFields);
  if (listKind !== undefined) {
    schemas.markKind(listSchemaName(resource), { group, version, kind: listKind });
    schemas.markSelectable(listSchemaName(resource), selectableFields);
  }
  for (const subresource of resource.subresources) {
    if (subresource.schema === undefined) continue;
    schemas.reference(subresource.schema);
    schemas.markKind(subresource.schema.name, subresource);
  }
}

/** A custom kind has the standard fields besides those its author specified. */
function addCustom(schemas: SchemaCollector, resource: OpenApiResource, schema: JsonObject): void {
  const name = schemaNameOf(resource);
  const reference = (type: string): JsonObject => schemas.reference(builtinTypes().object(`${meta}.${type}`));
  const header = (metaType: string): JsonObject => ({
    apiVersion: { description: describe(name, 'apiVersion')!, type: 'string' },
    kind: { description: describe(name, 'kind')!, type: 'string' },
    metadata: { description: describe(name, 'metadata')!, allOf: [reference(metaType)] },
  });
  schemas.add(name, { ...schema, properties: { ...((schema['properties'] ?? {}) as JsonObject), ...header('ObjectMeta') } });
  schemas.add(listSchemaName(resource), {
    description: `A list of ${resource.kind}.`,
    type: 'object',
    required: ['items'],
    properties: { ...header('ListMeta'), items: { type: 'array', items: schemas.referenceTo(name) } },
  });
}
