import { ApiError, type Client, type DiscoveredResource, isNotFound, type ResourceType } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';

/** Objects of one type that are still in a namespace. */
export interface Remains {
  readonly type: ResourceType;
  readonly count: number;
  /** How many of them wait for each finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Whether all of them are being deleted: they wait for finalizers or for the end of their grace period. */
  readonly leaving: boolean;
}

/** Parallel deletions, for types without deletecollection. */
const width = 32;

/** The types to delete from: each once, in the preferred version of its group. */
export function deletableTypes(resources: readonly DiscoveredResource[]): DiscoveredResource[] {
  const types = new Map<string, DiscoveredResource>();
  for (const one of resources) {
    if (!one.namespaced || !one.verbs.includes('delete') || !one.verbs.includes('list')) continue;
    const key = `${one.group}/${one.resource}`;
    if (!types.has(key)) types.set(key, one);
  }
  return [...types.values()];
}

/** Deletes all objects of a type in a namespace and returns what is left, undefined if nothing is. Types without objects cost one request. */
export async function emptyType(
  client: Client,
  { type, namespace, signal }: { type: DiscoveredResource; namespace: string; signal: AbortSignal },
): Promise<Remains | undefined> {
  const objects = client.resource(type).in(namespace).metadata();
  // Nothing may be orphaned here: everything must be deleted before the namespace.
  const options = { propagationPolicy: 'Background', signal } as const;
  try {
    const found = await listAll(objects.pages({ signal }));
    if (found.length === 0) return undefined;
    // One request for all objects costs both sides less than one each. If it takes too long, it has deleted some of them and is sent again.
    if (type.verbs.includes('deletecollection')) await objects.deleteCollection({ signal }, options);
    else await deleteEach(found, (name) => objects.delete(name, options));
    return remainsOf(type, await listAll(objects.pages({ signal })));
  } catch (error) {
    // The type itself was removed meanwhile, and its objects with it.
    if (isNotFound(error) || (error instanceof ApiError && error.code === 405)) return undefined;
    throw error;
  }
}

export function remainsOf(type: ResourceType, objects: readonly KubeObject[]): Remains | undefined {
  if (objects.length === 0) return undefined;
  const finalizers = new Map<string, number>();
  for (const { metadata } of objects) {
    for (const finalizer of metadata.finalizers ?? []) finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
  }
  const leaving = objects.every(({ metadata }) => metadata.deletionTimestamp !== undefined);
  return { type, count: objects.length, finalizers, leaving };
}

async function deleteEach(objects: readonly KubeObject[], remove: (name: string) => Promise<unknown>): Promise<void> {
  const waiting = objects.values();
  const work = async (): Promise<void> => {
    for (const { metadata } of waiting) await ignoring(remove(metadata.name ?? ''), isNotFound);
  };
  await Promise.all(Array.from({ length: width }, work));
}

async function listAll(pages: AsyncIterable<{ readonly items: readonly KubeObject[] }>): Promise<KubeObject[]> {
  const all: KubeObject[] = [];
  for await (const { items } of pages) all.push(...items);
  return all;
}
