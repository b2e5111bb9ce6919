import type { KubeObject, Measure } from '@capstan/machinery';

export type UsageChange =
  /** A new object, which was charged for before it was stored. */
  | { readonly type: 'new'; readonly object: KubeObject; readonly measure: Measure }
  /** Something went, or an object changed what it uses. */
  | { readonly type: 'other' };
