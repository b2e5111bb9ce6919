import type { DiscoveredResource, ResourceType } from '@capstan/client';
import { printSource } from '@capstan/machinery';
import type { WorkspaceTypeCache } from '../journal/workspace-type-cache.ts';

const needed = ['create', 'delete', 'list', 'watch'];

/** The name under which a quota limits a type; undefined if its objects cannot be counted. */
export function countableSource(type: DiscoveredResource): string | undefined {
  return needed.every((verb) => type.verbs.includes(verb)) ? printSource(type) : undefined;
}

/** The type in the version that a workspace serves; undefined if nothing of that name can be counted there. */
export async function findSource(
  types: WorkspaceTypeCache,
  { cluster, source, signal }: { readonly cluster: string; readonly source: string; readonly signal: AbortSignal },
): Promise<ResourceType | undefined> {
  // The core group has only one version, and most quotas limit its kinds.
  if (!source.includes('.')) return { group: '', version: 'v1', resource: source, namespaced: true };
  return types.find(cluster, source, signal);
}
