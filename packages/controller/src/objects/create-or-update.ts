import { isAlreadyExists, isNotFound, type Resource } from '@capstan/client';
import { type KubeObject, sameJson } from '@capstan/machinery';
import { ignoring } from './ignoring.ts';

export interface Written<T> {
  readonly result: 'created' | 'updated' | 'unchanged';
  readonly object: T;
}

export interface CreateOrUpdateOptions<T extends KubeObject> {
  readonly name: string;
  readonly namespace?: string;
  /** The object as a local copy has it. Without it the server is asked. */
  readonly copy?: T | undefined;
  /** Returns the wanted object, given the one that exists. It must not change its argument. */
  readonly change: (existing: T | undefined) => T;
}

/**
 * Creates an object, or updates it if it differs from what is wanted. An update names the version that it is based on: if somebody else wrote
 * meanwhile, the conflict is thrown, and the reconcile is repeated.
 */
export async function createOrUpdate<T extends KubeObject>(
  resource: Resource<T>,
  { name, namespace, copy, change }: CreateOrUpdateOptions<T>,
): Promise<Written<T>> {
  const target = { name, namespace };
  const existing = copy ?? (await ignoring(resource.get(target), isNotFound));
  if (existing !== undefined) return update(resource, existing, change);
  // An outdated copy may lack an object that exists.
  const created = await ignoring(resource.create(change(undefined)), isAlreadyExists);
  return created === undefined ? update(resource, await resource.get(target), change) : { result: 'created', object: created };
}

async function update<T extends KubeObject>(resource: Resource<T>, existing: T, change: (existing: T) => T): Promise<Written<T>> {
  const wanted = change(existing);
  if (sameJson(existing, wanted)) return { result: 'unchanged', object: existing };
  const { resourceVersion } = existing.metadata;
  const based = { ...wanted, metadata: { ...wanted.metadata, ...(resourceVersion !== undefined && { resourceVersion }) } };
  return { result: 'updated', object: await resource.update(based) };
}
