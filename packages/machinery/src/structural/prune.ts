import { pathWithin } from '../field/path.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import { isMetaField, own } from './own.ts';
import type { Schema } from './schema.ts';

/** Nobody reads more. */
const mostPaths = 1000;

/** Collects the paths of dropped fields, if the caller wants them. */
export class UnknownFields {
  readonly paths: string[] = [];
  readonly #segments: (string | number)[] = [];

  enter(segment: string | number): void {
    this.#segments.push(segment);
  }

  leave(): void {
    this.#segments.pop();
  }

  get atRoot(): boolean {
    return this.#segments.length === 0;
  }

  add(key: string): void {
    if (this.paths.length < mostPaths) this.paths.push(pathWithin([...this.#segments, key]));
  }
}

/**
 * Drops the fields that the schema does not have. The resource and its embedded resources keep apiVersion, kind and metadata. Changes the
 * object.
 */
export function prune(object: JsonObject, schema: Schema, unknown: UnknownFields = new UnknownFields()): void {
  pruneFields(object, schema, { unknown, isResource: true });
}

interface Pruning {
  readonly unknown: UnknownFields;
  readonly isResource: boolean;
}

/** Like `prune`, for a value that is not a resource, such as a default. */
export function pruneValue(value: Json, schema: Schema | undefined, unknown: UnknownFields = new UnknownFields()): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) return pruneFields(value, schema, { unknown, isResource: schema?.embeddedResource === true });
  const keepsUnknown = schema?.preserveUnknown === true;
  for (let index = 0; index < value.length; index++) {
    const item = value[index]!;
    if (typeof item !== 'object' || item === null) continue;
    unknown.enter(index);
    // A list that preserves unknown fields passes that on to its items; items without a schema are kept whole.
    if (!keepsUnknown) pruneValue(item, schema?.items, unknown);
    else if (schema.items !== undefined) keepValue(item, schema.items, unknown);
    unknown.leave();
  }
}

function pruneFields(object: JsonObject, schema: Schema | undefined, { unknown, isResource }: Pruning): void {
  for (const key in object) {
    if (isResource && isMetaField(key)) continue;
    const property = schema?.properties.get(key);
    if (property !== undefined || schema?.additional !== undefined) {
      const value = object[key]!;
      if (typeof value !== 'object' || value === null) continue;
      unknown.enter(key);
      pruneValue(value, property ?? schema!.additional!.schema, unknown);
      unknown.leave();
    } else if (schema?.preserveUnknown !== true) {
      if (!isMetaField(key) || !unknown.atRoot) unknown.add(key);
      delete object[key];
    }
  }
}

/** Keeps unknown fields and prunes inside known ones. */
function keepValue(value: Json, schema: Schema, unknown: UnknownFields): void {
  if (isObject(value)) {
    for (const key of Object.keys(value)) {
      if (schema.embeddedResource && isMetaField(key)) continue;
      const property = schema.properties.get(key) ?? schema.additional?.schema;
      if (property === undefined && schema.additional === undefined) continue;
      unknown.enter(key);
      pruneValue(own(value, key)!, property, unknown);
      unknown.leave();
    }
  } else if (Array.isArray(value) && schema.items !== undefined) {
    for (let index = 0; index < value.length; index++) {
      unknown.enter(index);
      keepValue(value[index]!, schema.items, unknown);
      unknown.leave();
    }
  }
}
