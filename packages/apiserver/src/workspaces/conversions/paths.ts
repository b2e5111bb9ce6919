import { copyJson, isObject, type Json, type JsonObject, own, type Schema, setOwn } from '@capstan/machinery';

/** The path of a field from the root of an object. */
export type Path = readonly string[];

/** Parses `.spec.name.first`, with or without the leading dot. */
export function parsePath(text: string): Path {
  return (text.startsWith('.') ? text.slice(1) : text).split('.');
}

/** A copy of the value at a path; undefined if there is none. */
export function valueAt(object: JsonObject, path: Path): Json | undefined {
  let value: Json | undefined = object;
  for (const name of path) {
    if (!isObject(value)) return undefined;
    value = own(value, name);
  }
  return value === undefined || value === null ? undefined : copyJson(value);
}

/** Sets the value at a path, creating missing parents. Undefined removes it. */
export function setAt(object: JsonObject, path: Path, value: Json | undefined): void {
  let inside = object;
  for (const name of path.slice(0, -1)) {
    let next = own(inside, name);
    if (!isObject(next)) {
      if (value === undefined) return;
      setOwn(inside, name, (next = {}));
    }
    inside = next;
  }
  const last = path.at(-1)!;
  if (value === undefined) delete inside[last];
  else setOwn(inside, last, value);
}

/** The schema of a field, or an error message. */
export function schemaAt(schema: Schema, path: Path): Schema | string {
  let current = schema;
  for (const [index, name] of path.entries()) {
    if (current.type !== 'object') return `expected field "${path.slice(0, index).join('.')}" to be an object`;
    const next = current.properties.get(name) ?? current.additional?.schema;
    if (next === undefined) return `field "${path.slice(0, index + 1).join('.')}" doesn't exist`;
    current = next;
  }
  return current;
}

/** Whether a value at this path survives pruning: the schema has the field, or preserves unknown fields. */
export function keepsAt(schema: Schema, path: Path): boolean {
  let current = schema;
  for (const name of path) {
    const next = current.properties.get(name) ?? current.additional?.schema;
    if (next === undefined) return current.preserveUnknown;
    current = next;
  }
  return true;
}
