import { type ClusterId, workspaceFinalizer } from '@capstan/api';
import { type Store, StoreError } from '@capstan/store';
import { storeKey, type WatchCache } from '../../cache/watch-cache.ts';
import { workspaces } from '../tree.ts';

/** Deletes the Workspace of a workspace that is gone. Returns false if it has other finalizers or has changed meanwhile. */
export async function finalizeWorkspace(
  { cache, store }: { cache: WatchCache; store: Store },
  { cluster, name, uid }: { cluster: ClusterId; name: string; uid: string },
): Promise<boolean> {
  const entry = cache.resource(workspaces).newest(`${cluster}//${name}`);
  if (entry === undefined) return true;
  const { metadata } = entry.parse();
  if (metadata.uid !== uid || metadata.deletionTimestamp === undefined) return false;
  if (metadata.finalizers?.length !== 1 || metadata.finalizers[0] !== workspaceFinalizer) return false;
  try {
    await store.delete(storeKey({ ...workspaces, cluster, namespace: '', name }), entry.revision);
    return true;
  } catch (error) {
    if (error instanceof StoreError && (error.code === 'conflict' || error.code === 'missing')) return error.code === 'missing';
    throw error;
  }
}
