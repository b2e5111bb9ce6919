import { type DiscoveredResource, discover } from '@capstan/client/browser';
import { queryOptions } from '@tanstack/react-query';
import { kubeClient } from '../kube/client.ts';

/** The name of the core group in addresses of pages, where an empty part cannot be. */
const core = 'core';

export const groupInPath = (group: string): string => (group === '' ? core : group);
export const groupFromPath = (part: string): string => (part === core ? '' : part);

export const kindsQuery = (workspace: string) =>
  queryOptions({
    queryKey: ['kinds', workspace],
    queryFn: ({ signal }) => discover(kubeClient(workspace), signal),
    staleTime: 60_000,
  });

type KindAddress = Pick<DiscoveredResource, 'group' | 'version' | 'resource'>;

/** The kind as the workspace serves it; undefined if it does not, or if that is not known yet. */
export const servedKind = (all: readonly DiscoveredResource[] | undefined, { group, version, resource }: KindAddress) =>
  all?.find((one) => one.group === group && one.version === version && one.resource === resource);

/** The kinds that can be listed, in the preferred version of each, by group and name. */
export function listable(all: readonly DiscoveredResource[]): readonly DiscoveredResource[] {
  const seen = new Set<string>();
  return all
    .filter(({ verbs, group, resource }) => {
      const id = `${resource}.${group}`;
      if (!verbs.includes('list') || seen.has(id)) return false;
      seen.add(id);
      return true;
    })
    .sort(
      (one, other) =>
        rank(one.group) - rank(other.group) || one.group.localeCompare(other.group) || one.resource.localeCompare(other.resource),
    );
}

/** Our own groups first, then those of Kubernetes, then all others. */
function rank(group: string): number {
  if (group.endsWith('capstan.dev')) return 0;
  if (group === '' || group === 'apps' || group === 'batch') return 1;
  return 2;
}
