import type { KubeObject } from '@capstan/machinery';
import { StoreError } from '@capstan/store';
import { storeKey } from '../../cache/watch-cache.ts';
import type { Catalog } from '../../registry/catalog.ts';
import type { Backend } from '../../registry/objects.ts';
import { textForStore } from '../../registry/objects.ts';
import type { Resource } from '../../registry/resource.ts';

/** The kind of an object, among those that a workspace has. */
export function kindOf(catalog: Catalog, { apiVersion, kind }: KubeObject): Resource {
  const slash = apiVersion.indexOf('/');
  const version = catalog.version(slash < 0 ? '' : apiVersion.slice(0, slash), apiVersion.slice(slash + 1));
  for (const resource of version?.resources.values() ?? []) if (resource.kind === kind) return resource;
  throw new Error(`no resource of kind ${kind} in ${apiVersion} is served`);
}

/**
 * Writes objects of the platform's own making, all in one turn so that they share a commit, without asking admission. What is there already stays: whoever
 * resumes after a crash finds some of them.
 */
export async function writeMissing(
  { store }: Pick<Backend, 'store'>,
  cluster: string,
  objects: readonly { readonly resource: Resource; readonly object: KubeObject }[],
): Promise<void> {
  await Promise.all(
    objects.map(async ({ resource, object }) => {
      const { namespace = '', name = '' } = object.metadata;
      const text = await textForStore(resource, object);
      try {
        await store.create(
          storeKey({ cluster, group: resource.storage.group, resource: resource.storage.resource, namespace, name }),
          text,
        );
      } catch (error) {
        if (!(error instanceof StoreError) || error.code !== 'exists') throw error;
      }
    }),
  );
}
