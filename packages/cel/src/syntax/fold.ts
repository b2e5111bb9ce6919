import type { Expression } from './ast.ts';

/** The computation of a comprehension, with the parts of the original macro. */
export type FoldKind =
  | { readonly kind: 'all'; readonly predicate: Expression }
  | { readonly kind: 'exists'; readonly predicate: Expression }
  | { readonly kind: 'existsOne'; readonly predicate: Expression }
  | { readonly kind: 'list'; readonly filter: Expression | undefined; readonly transform: Expression }
  | { readonly kind: 'map'; readonly filter: Expression | undefined; readonly transform: Expression }
  | { readonly kind: 'mapEntries'; readonly filter: Expression | undefined; readonly transform: Expression }
  | { readonly kind: 'bind' };
