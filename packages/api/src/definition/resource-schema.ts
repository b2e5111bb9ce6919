import type { JsonObject } from '@capstan/machinery/objects';
import type { KindDefinition } from './define-kind.ts';
import { namesOf, objectSchema, versionFacts } from './object-schema.ts';

/** The spec of the APIResourceSchema of a kind. */
export function resourceSchemaSpec(definition: KindDefinition): JsonObject {
  const { group, namespaced, versions } = definition;
  const entries = Object.entries(versions);
  return {
    group,
    names: namesOf(definition),
    scope: namespaced ? 'Namespaced' : 'Cluster',
    versions: entries.map(([name, version]) => ({ ...versionFacts(definition, name), schema: objectSchema(definition, version) })),
    ...(entries.length > 1 && { conversion: { strategy: 'None' } }),
  };
}
