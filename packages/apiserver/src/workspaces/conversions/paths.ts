import { copyJson, isObject, type Json, type JsonObject, own, type Schema, setOwn } from '@capstan/machinery';

/** A field below an object's root: names, one inside the other. */
export type Path = readonly string[];

/** `.spec.name.first`, with or without the first dot. */
export function parsePath(text: string): Path {
  return (text.startsWith('.') ? text.slice(1) : text).split('.');
}

/** A copy of what stands there; undefined when nothing does. */
export function valueAt(object: JsonObject, path: Path): Json | undefined {
  let value: Json | undefined = object;
  for (const name of path) {
    if (!isObject(value)) return undefined;
    value = own(value, name);
  }
  return value === undefined || value === null ? undefined : copyJson(value);
}

/** Puts a value there, making what it stands in. Undefined takes away what was there. */
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

/** What a schema says about a field, or why it says nothing. */
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

/** Whether a value that is put there stays: the schema knows the field, or keeps what it does not know. */
export function keepsAt(schema: Schema, path: Path): boolean {
  let current = schema;
  for (const name of path) {
    const next = current.properties.get(name) ?? current.additional?.schema;
    if (next === undefined) return current.preserveUnknown;
    current = next;
  }
  return true;
}
