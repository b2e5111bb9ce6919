import { type Client, isNotFound, type ResourceType } from '@capstan/client';
import type { ResourceSchema } from '../kinds.ts';
import type { Remains } from './deletion.ts';

const width = 32;

/** Deletes all objects of a bound kind in a workspace, and looks what is left. */
export async function emptyKind(client: Client, schema: ResourceSchema, signal: AbortSignal): Promise<Remains> {
  const type = typeOf(schema);
  if (type === undefined) return { count: 0, finalizers: new Map() };
  const objects = client.resource(type).metadata();
  const found = await all(objects.pages({ signal }));
  const waiting = found.filter(({ metadata }) => metadata.deletionTimestamp === undefined).values();
  const work = async (): Promise<void> => {
    for (const { metadata } of waiting)
      await unlessGone(
        objects.delete({ name: metadata.name ?? '', namespace: metadata.namespace }, { propagationPolicy: 'Background', signal }),
      );
  };
  await Promise.all(Array.from({ length: width }, work));
  const left = found.length === 0 ? [] : await all(objects.pages({ signal }));
  const finalizers = new Map<string, number>();
  for (const { metadata } of left) for (const name of metadata.finalizers ?? []) finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
  return { count: left.length, finalizers };
}

/** The kind in a version that is served; undefined when none is. */
function typeOf({ spec }: ResourceSchema): ResourceType | undefined {
  const { group, names, scope, versions } = spec!;
  const version = versions.find(({ served, storage }) => served && storage) ?? versions.find(({ served }) => served);
  return version && { group, version: version.name, resource: names.plural, namespaced: scope === 'Namespaced' };
}

async function all<T>(pages: AsyncIterable<{ readonly items: readonly T[] }>): Promise<T[]> {
  const items: T[] = [];
  try {
    for await (const page of pages) items.push(...page.items);
  } catch (error) {
    // The kind is not served: whoever deletes the workspace was quicker.
    if (!isNotFound(error)) throw error;
  }
  return items;
}

async function unlessGone(deleting: Promise<unknown>): Promise<void> {
  try {
    await deleting;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
