import type { Schema } from './schema.ts';

/** The schemas of what stands directly inside a value of this schema. */
export function* innerSchemas(schema: Schema): Iterable<Schema> {
  yield* schema.properties.values();
  if (schema.items !== undefined) yield schema.items;
  if (schema.additional?.schema !== undefined) yield schema.additional.schema;
}

/** Tells whether a schema or one inside of it is of a kind; each is looked at once. Walks over objects use it to leave out what has nothing for them. */
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
