import type { Schema } from './schema.ts';

/** The schemas directly inside this schema. */
export function* innerSchemas(schema: Schema): Iterable<Schema> {
  yield* schema.properties.values();
  if (schema.items !== undefined) yield schema.items;
  if (schema.additional?.schema !== undefined) yield schema.additional.schema;
}

/** Tests whether a schema or any schema inside it matches, visiting each once. Walks over objects use it to skip irrelevant parts. */
export function contains(isWanted: (schema: Schema) => boolean): (schema: Schema) => boolean {
  const known = new WeakMap<Schema, boolean>();
  const search = (schema: Schema): boolean => {
    let found = known.get(schema);
    if (found === undefined) {
      found = isWanted(schema);
      for (const inner of innerSchemas(schema)) found = search(inner) || found;
      known.set(schema, found);
    }
    return found;
  };
  return search;
}
