import type { KubeObject } from '@capstan/machinery/objects';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface GetOptions extends CallOptions {
  readonly resourceVersion?: string;
}

export interface SelectOptions extends CallOptions {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOptions extends SelectOptions {
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
}

export interface WatchOptions extends SelectOptions {
  readonly resourceVersion?: string;
  readonly allowWatchBookmarks?: boolean;
  /** First send existing objects as if they had just been added, then a bookmark that marks their end. */
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds?: number;
  /** In milliseconds: a watch that is silent for this long is closed. Bookmarks arrive every minute or two. */
  readonly idleTimeout?: number;
}

export interface WriteOptions extends CallOptions {
  readonly fieldManager?: string;
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  readonly dryRun?: boolean;
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Take over fields that others own. */
  readonly force?: boolean;
}

export interface DeleteOptions extends CallOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
  /** Reject the request if the object is no longer this one. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: boolean;
}

export interface List<T> {
  readonly items: T[];
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string; readonly remainingItemCount?: number };
}

/** A change, as a watch reports it. */
export type WatchEvent<T extends KubeObject = KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly object: KubeObject };

const names = [
  'labelSelector',
  'fieldSelector',
  'limit',
  'continue',
  'resourceVersion',
  'resourceVersionMatch',
  'allowWatchBookmarks',
  'sendInitialEvents',
  'timeoutSeconds',
  'fieldManager',
  'fieldValidation',
  'force',
] as const;

type Queried = Partial<Record<(typeof names)[number], string | number | boolean | undefined>> & { readonly dryRun?: boolean | undefined };

/** `?a=b&c=d`, or an empty string. */
export function queryOf(options: Queried, fixed: readonly string[] = []): string {
  const parts = [...fixed];
  for (const name of names) {
    const value = options[name];
    if (value !== undefined && value !== '') parts.push(`${name}=${encodeURIComponent(value)}`);
  }
  if (options.dryRun) parts.push('dryRun=All');
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}
