import { isObject, type Json, type JsonObject } from '../json.ts';
import type { ObjectType, Type } from '../schema/type.ts';
import { merge } from './merge.ts';
import { cloneJson, Untypable } from './shape.ts';
import { typingProblem } from './validate.ts';

/** Why a configuration cannot be merged into an object, in Kubernetes' words. */
export class UnfitConfiguration extends Error {
  override readonly name = 'UnfitConfiguration';
}

/**
 * Merges a partial object into an object as server-side apply would, but without ownership. The configuration must not contain atomic
 * values: changing a part of one would drop the rest. The result shares nothing with either input. Throws an `UnfitConfiguration`.
 */
export function mergeConfiguration(type: ObjectType, object: JsonObject, configuration: JsonObject): JsonObject {
  const problem = typingProblem(type, configuration);
  if (problem !== undefined) throw new UnfitConfiguration(`failed to convert patch object to typed object: ${problem}`);
  const atomics: string[] = [];
  findAtomics(type, configuration, { path: '', atomics });
  if (atomics.length > 0) {
    throw new UnfitConfiguration(`invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`);
  }
  try {
    return cloneJson(merge(type, object, configuration) as JsonObject);
  } catch (error) {
    if (error instanceof Untypable) throw new UnfitConfiguration(`failed to convert original object to typed object: ${error.message}`);
    throw error;
  }
}

interface Found {
  readonly path: string;
  readonly atomics: string[];
}

function findAtomics(type: Type, value: Json, { path, atomics }: Found): void {
  if (isObject(value)) {
    if (isAtomicMap(type)) atomics.push(path);
    if (type.kind !== 'object') return;
    for (const key of Object.keys(value).sort()) {
      const field = type.fields.get(key);
      if (field !== undefined) findAtomics(field.type, value[key]!, { path: `${path}.${key}`, atomics });
    }
  } else if (Array.isArray(value)) {
    if (type.kind === 'any' || (type.kind === 'list' && type.listType === 'atomic')) atomics.push(path);
    if (type.kind !== 'list') return;
    for (const [index, item] of value.entries()) findAtomics(type.items, item, { path: `${path}[${index}]`, atomics });
  }
}

function isAtomicMap(type: Type): boolean {
  return type.kind === 'any' ? !type.deduced : (type.kind === 'object' || type.kind === 'map') && type.atomic;
}
