import type { Resource } from '@capstan/client';
import { isObject, type Json, type JsonObject, type KubeObject, sameJson } from '@capstan/machinery';

/**
 * Writes the status of an object if it differs from the object's own, with a patch of the differences. Returns the server's answer, or the object itself
 * if nothing had to be written.
 */
export async function patchStatus<T extends KubeObject>(resource: Resource<T>, object: T, status: object): Promise<T> {
  const before = (object as { readonly status?: unknown }).status ?? {};
  if (sameJson(before, status)) return object;
  const { name = '', namespace } = object.metadata;
  const patch = { status: differences(before, status) };
  return resource.patch({ name, namespace }, { type: 'merge', patch }, { subresource: 'status' });
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
