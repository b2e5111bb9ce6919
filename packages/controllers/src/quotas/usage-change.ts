import type { KubeObject, Measure } from '@capstan/machinery';

export type UsageChange =
  /** A new object, which was charged for before it was stored. */
  | { readonly type: 'new'; readonly object: KubeObject; readonly measure: Measure }
  /** An object was deleted, or its usage changed. */
  | { readonly type: 'other' };
