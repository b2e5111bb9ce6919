import type { Json, JsonObject } from '@capstan/machinery/objects';
import { isObject } from '@capstan/machinery/objects';
import type { KindDefinition } from './define-kind.ts';
import { objectSchema } from './object-schema.ts';

const metadata: JsonObject = {
  type: 'object',
  description: 'Metadata of a Kubernetes object.',
  properties: {
    name: { type: 'string' },
    namespace: { type: 'string' },
    uid: { type: 'string', readOnly: true },
    resourceVersion: { type: 'string' },
    generation: { type: 'integer', format: 'int64', readOnly: true },
    creationTimestamp: { type: 'string', format: 'date-time', readOnly: true },
    deletionTimestamp: { type: 'string', format: 'date-time', readOnly: true },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    annotations: { type: 'object', additionalProperties: { type: 'string' } },
    finalizers: { type: 'array', items: { type: 'string' } },
  },
};

/** The schemas of OpenAPI 3.1 components for all served versions of these kinds: `GPUNode` if a kind has one version, else `GPUNode.v1`. */
export function openApiComponents(definitions: readonly KindDefinition[]): JsonObject {
  const schemas: JsonObject = { ObjectMeta: metadata };
  for (const definition of definitions)
    for (const [name, version] of Object.entries(definition.versions)) {
      if (version.served === false) continue;
      schemas[componentName(definition, name)] = componentOf(definition, name);
    }
  return schemas;
}

export function componentName({ kind, versions }: KindDefinition, version: string): string {
  return Object.keys(versions).length > 1 ? `${kind}.${version}` : kind;
}

function componentOf(definition: KindDefinition, name: string): JsonObject {
  const { group, kind } = definition;
  const { properties, ...others } = modernSchema(objectSchema(definition, definition.versions[name]!));
  return {
    ...others,
    required: ['apiVersion', 'kind', 'metadata', ...((others['required'] as string[] | undefined) ?? [])],
    properties: {
      ...(properties as JsonObject),
      apiVersion: { const: `${group}/${name}` },
      kind: { const: kind },
      metadata: { $ref: '#/components/schemas/ObjectMeta' },
    },
    'x-kubernetes-group-version-kind': [{ group, version: name, kind }],
  };
}

/** A structural schema in the words of JSON Schema 2020-12, in which OpenAPI 3.1 is written. */
export function modernSchema(schema: JsonObject): JsonObject {
  const { nullable, exclusiveMinimum, exclusiveMaximum, minimum, maximum, ...others } = schema;
  const made: JsonObject = {
    ...others,
    ...bound('minimum', 'exclusiveMinimum', { limit: minimum, isExclusive: exclusiveMinimum === true }),
    ...bound('maximum', 'exclusiveMaximum', { limit: maximum, isExclusive: exclusiveMaximum === true }),
  };
  if (nullable === true && typeof made['type'] === 'string') made['type'] = [made['type'], 'null'];
  if (isObject(made['properties'])) made['properties'] = mapValues(made['properties']);
  for (const key of ['items', 'additionalProperties', 'not']) {
    const inner = made[key];
    if (isObject(inner)) made[key] = modernSchema(inner);
  }
  for (const key of ['allOf', 'anyOf', 'oneOf']) {
    const inner = made[key];
    if (Array.isArray(inner)) made[key] = inner.filter(isObject).map(modernSchema);
  }
  return made;
}

function mapValues(properties: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, isObject(value) ? modernSchema(value) : value]));
}

function bound(
  plain: string,
  exclusive: string,
  { limit, isExclusive }: { readonly limit: Json | undefined; readonly isExclusive: boolean },
): JsonObject {
  return limit === undefined ? {} : { [isExclusive ? exclusive : plain]: limit };
}
