import type { Resource } from '@capstan/client';
import { isObject, type Json, type JsonObject, type KubeObject, sameJson } from '@capstan/machinery';

/**
 * Writes the status of an object if it differs from the object's own, with a patch of the differences. Returns the server's answer, or the object itself
 * if nothing had to be written. Throws if the server dropped a field, because a new version of the kind has not reached the object's workspace yet: the
 * reconcile is then repeated until it has.
 */
export async function patchStatus<T extends KubeObject>(resource: Resource<T>, object: T, status: object): Promise<T> {
  const before = (object as { readonly status?: unknown }).status ?? {};
  if (sameJson(before, status)) return object;
  const { name = '', namespace } = object.metadata;
  const patch = { status: differences(before, status) };
  const answer = await resource.patch({ name, namespace }, { type: 'merge', patch }, { subresource: 'status' });
  const dropped = droppedField(patch.status, (answer as { readonly status?: unknown }).status ?? {});
  if (dropped !== undefined)
    throw new Error(
      `the server dropped status${dropped} of ${resource.type.resource} "${name}": its schema does not have the field, or not yet`,
    );
  return answer;
}

/** The path of a field of the patch that the answer lacks. */
function droppedField(patch: Json, answer: unknown): string | undefined {
  if (!isObject(patch)) return undefined;
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) continue;
    if (!isObject(answer) || !(key in answer)) return `.${key}`;
    const below = droppedField(value as Json, answer[key]);
    if (below !== undefined) return `.${key}${below}`;
  }
  return undefined;
}

/** A merge patch from one value to another: fields that are gone become null, lists are replaced. */
function differences(before: unknown, after: unknown): Json {
  if (!isObject(before) || !isObject(after)) return after as Json;
  const patch: Record<string, Json> = {};
  for (const [key, value] of Object.entries(after)) {
    if (value === undefined || (key in before && sameJson(before[key], value))) continue;
    patch[key] = differences(before[key], value);
  }
  for (const key of Object.keys(before)) if (after[key] === undefined) patch[key] = null;
  return patch as JsonObject;
}
