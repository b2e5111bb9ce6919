import type { ClusterId } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { StoreError } from '@capstan/store';
import { storeKey } from '../../cache/watch-cache.ts';
import type { Backend } from '../../registry/objects.ts';
import { textForStore } from '../../registry/objects.ts';
import type { Resource } from '../../registry/resource.ts';

/**
 * Writes objects of the platform's own making, all in one turn so that they share a commit, without asking admission. What is there already stays: whoever
 * resumes after a crash finds some of them.
 */
export async function writeMissing(
  { store }: Pick<Backend, 'store'>,
  cluster: ClusterId,
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
