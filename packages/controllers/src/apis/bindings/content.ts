import type { ApiResourceSchema } from '@capstan/api';
import { type Client, isNotFound, type ResourceType } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import type { Remains } from './deletion.ts';

const width = 32;

/** Deletes all objects of a bound kind in a workspace, and returns what is left. No new ones appear: a kind that is being unbound rejects them. */
export async function emptyKind(client: Client, schema: ApiResourceSchema, signal: AbortSignal): Promise<Remains> {
  const type = typeOf(schema);
  if (type === undefined) return { count: 0, finalizers: new Map() };
  const objects = client.resource(type).metadata();
  const found = await all(objects.pages({ signal }));
  const left = found.filter(isLeaving);
  const waiting = found.filter((object) => !isLeaving(object)).values();
  const work = async (): Promise<void> => {
    for (const { metadata } of waiting) {
      const target = { name: metadata.name ?? '', namespace: metadata.namespace };
      const answer = await ignoring(objects.delete(target, { propagationPolicy: 'Background', signal }), isNotFound);
      // The answer is the object if it waits for finalizers, and a Status if it is gone.
      if (answer !== undefined && answer.kind !== 'Status') left.push(answer as KubeObject);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, found.length) }, work));
  const finalizers = new Map<string, number>();
  for (const { metadata } of left) for (const name of metadata.finalizers ?? []) finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
  return { count: left.length, finalizers };
}

const isLeaving = ({ metadata }: Pick<KubeObject, 'metadata'>): boolean => metadata.deletionTimestamp !== undefined;

/** The kind in a served version; undefined if none is served. */
function typeOf({ spec }: ApiResourceSchema): ResourceType | undefined {
  const { group, names, scope, versions } = spec!;
  const version = versions.find(({ served, storage }) => served && storage) ?? versions.find(({ served }) => served);
  return version && { group, version: version.name, resource: names.plural, namespaced: scope === 'Namespaced' };
}

async function all<T>(pages: AsyncIterable<{ readonly items: readonly T[] }>): Promise<T[]> {
  const items: T[] = [];
  try {
    for await (const page of pages) items.push(...page.items);
  } catch (error) {
    // The kind is no longer served: the workspace itself is being deleted.
    if (!isNotFound(error)) throw error;
  }
  return items;
}
