import type { KubeObject } from '@capstan/machinery';
import { CacheEntry } from '../../cache/entry.ts';
import type { Catalog } from '../../registry/catalog.ts';
import type { Resource } from '../../registry/resource.ts';

const known = new WeakMap<Catalog, { generation: number; byStorage: Map<string, Resource[]> }>();

/** All groups and versions in which the objects of this resource are served, in the order of discovery. */
export function equivalentsOf(catalog: Catalog, { storage }: Resource): readonly Resource[] {
  let found = known.get(catalog);
  if (found === undefined || found.generation !== catalog.generation) {
    known.set(catalog, (found = { generation: catalog.generation, byStorage: byStorage(catalog) }));
  }
  return found.byStorage.get(`${storage.group}/${storage.resource}`) ?? [];
}

function byStorage(catalog: Catalog): Map<string, Resource[]> {
  const found = new Map<string, Resource[]>();
  for (const group of catalog.groups.values()) {
    for (const version of group.versions) {
      for (const resource of version.resources.values()) {
        const key = `${resource.storage.group}/${resource.storage.resource}`;
        const list = found.get(key);
        if (list === undefined) found.set(key, [resource]);
        else list.push(resource);
      }
    }
  }
  return found;
}

/** The object in another version; the same object if it already has that version. */
export async function converted(object: KubeObject, from: Resource, to: Resource): Promise<KubeObject> {
  if (from === to || from.groupVersion === to.groupVersion) return object;
  return served((await from.storage.convert?.toStorage(structuredClone(object))) ?? object, to);
}

/** A stored object in a served version. The stored object is not modified, and callers may modify the result. */
export async function served(stored: KubeObject, { storage: { convert } }: Resource): Promise<KubeObject> {
  const entry = new CacheEntry('', JSON.stringify(stored), 0);
  if (convert === undefined || convert.applies?.(entry) === false) return entry.parse();
  await convert.ahead?.([entry]);
  return convert.fromStorage(entry.parse(), entry);
}
