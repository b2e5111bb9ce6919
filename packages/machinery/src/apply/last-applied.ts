import { isObject, type Json, type JsonObject, type KubeObject } from '../json.ts';
import type { ObjectType } from '../schema/type.ts';
import { whole } from '../work/parts.ts';
import { changedFields, compare } from './compare.ts';
import { difference, type FieldSet } from './field-set.ts';
import { cloneJson, Untypable } from './shape.ts';
import { toFieldSet } from './to-field-set.ts';
import { typingProblem } from './validate.ts';

const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
const largestAnnotations = 256 * 1024;

const lastAppliedOf = (object: KubeObject): string | undefined => object.metadata.annotations?.[annotation] || undefined;

/**
 * The fields that client-side apply set and nobody changed since: kubectl may take them over with server-side apply. Undefined if the
 * object has no last-applied annotation.
 */
export function fieldsOfLastApplied(live: KubeObject, type: ObjectType, apiVersion: string): FieldSet | undefined {
  const text = lastAppliedOf(live);
  if (text === undefined) return undefined;
  let applied: Json;
  try {
    applied = JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
  if (!isObject(applied) || applied['apiVersion'] !== apiVersion || typingProblem(type, applied) !== undefined) return undefined;
  try {
    const changed = whole(changedFields(compare(type, applied, live as unknown as JsonObject)));
    return difference(toFieldSet(type, applied), changed);
  } catch (error) {
    if (error instanceof Untypable) return undefined;
    throw error;
  }
}

/**
 * Keeps the annotation current when kubectl uses server-side apply, so that users can go back. Drops the annotation if it gets too large.
 */
export function refreshLastApplied(object: KubeObject, config: JsonObject): void {
  if (lastAppliedOf(object) === undefined) return;
  const copy = cloneJson(config);
  const metadata = copy['metadata'];
  if (isObject(metadata) && isObject(metadata['annotations'])) delete metadata['annotations'][annotation];
  const annotations = { ...object.metadata.annotations, [annotation]: `${JSON.stringify(withSortedKeys(copy))}\n` };
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) size += Buffer.byteLength(key) + Buffer.byteLength(value);
  if (size > largestAnnotations) delete (annotations as Record<string, string>)[annotation];
  object.metadata.annotations = annotations;
}

function withSortedKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, withSortedKeys(value[key]!)]),
  );
}
