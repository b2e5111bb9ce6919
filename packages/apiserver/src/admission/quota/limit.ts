import {
  type Amounts,
  isWorkspaceQuota,
  type KubeObject,
  printSource,
  quotaScopes,
  quotaSource,
  readAmounts,
  type Scope,
} from '@capstan/machinery';
import type { CacheEntry } from '../../cache/entry.ts';

/** A ResourceQuota as admission sees it: the limits in its status apply. */
export interface Limit {
  readonly name: string;
  readonly isForWorkspace: boolean;
  readonly hard: Amounts;
  readonly used: Amounts;
  readonly scopes: readonly Scope[];
  /** The entries of `hard` that objects of a resource count against. */
  namesFor(source: string): ReadonlySet<string>;
}

const noNames: ReadonlySet<string> = new Set();
const read = new WeakMap<CacheEntry, Limit>();

/** Parses each version of a quota once. */
export function limitOf(entry: CacheEntry): Limit {
  let limit = read.get(entry);
  if (limit === undefined) read.set(entry, (limit = readLimit(entry.parse())));
  return limit;
}

export function readLimit(quota: KubeObject): Limit {
  const { hard, used } = (quota['status'] ?? {}) as { hard?: unknown; used?: unknown };
  const amounts = readAmounts(hard);
  const sources = new Map<string, Set<string>>();
  for (const name of amounts.keys()) {
    const source = quotaSource(name);
    if (source === undefined) continue;
    const key = printSource(source);
    const names = sources.get(key);
    if (names === undefined) sources.set(key, new Set([name]));
    else names.add(name);
  }
  return {
    name: quota.metadata.name ?? '',
    isForWorkspace: isWorkspaceQuota(quota),
    hard: amounts,
    used: readAmounts(used),
    scopes: quotaScopes(quota),
    namesFor: (source) => sources.get(source) ?? noNames,
  };
}
