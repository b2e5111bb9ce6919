import { ApiError, type Client, type DiscoveredResource, isNotFound, type ResourceType } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';

/** Objects of one type that are still in a namespace. */
export interface Remains {
  readonly type: ResourceType;
  readonly count: number;
  /** How many of them wait for each finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Whether all of them are on their way out: they wait for finalizers or for their time to end. */
  readonly leaving: boolean;
}

/** Deletions side by side, of types that have no collections to delete. */
const width = 32;

/** What has to be emptied: each type once, in the version that its group prefers. */
export function deletableTypes(resources: readonly DiscoveredResource[]): DiscoveredResource[] {
  const types = new Map<string, DiscoveredResource>();
  for (const one of resources) {
    if (!one.namespaced || !one.verbs.includes('delete') || !one.verbs.includes('list')) continue;
    const key = `${one.group}/${one.resource}`;
    if (!types.has(key)) types.set(key, one);
  }
  return [...types.values()];
}

/** Deletes all objects of a type in a namespace, and looks what is left; undefined when nothing is. Types without objects cost one request. */
export async function emptyType(
  client: Client,
  { type, namespace, signal }: { type: DiscoveredResource; namespace: string; signal: AbortSignal },
): Promise<Remains | undefined> {
  const objects = client.resource(type).in(namespace).metadata();
  // Nothing here may be orphaned: all of it has to go before the namespace does.
  const options = { propagationPolicy: 'Background', signal } as const;
  try {
    const found = await listAll(objects.pages({ signal }));
    if (found.length === 0) return undefined;
    // One request for all: a thousand cost less than a thousand requests, here and at the server. One that takes too long has deleted some, and is sent again.
    if (type.verbs.includes('deletecollection')) await objects.deleteCollection({ signal }, options);
    else await deleteEach(found, (name) => objects.delete(name, options));
    return remainsOf(type, await listAll(objects.pages({ signal })));
  } catch (error) {
    // The type itself went meanwhile, and its objects with it.
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
    for (const { metadata } of waiting) await unlessGone(remove(metadata.name ?? ''));
  };
  await Promise.all(Array.from({ length: width }, work));
}

async function listAll(pages: AsyncIterable<{ readonly items: readonly KubeObject[] }>): Promise<KubeObject[]> {
  const all: KubeObject[] = [];
  for await (const { items } of pages) all.push(...items);
  return all;
}

async function unlessGone(deleting: Promise<unknown>): Promise<void> {
  try {
    await deleting;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
