/** Whether two lists have the same finalizers, in any order. An object may have a hundred thousand. */
export function areSameFinalizers(finalizers: readonly string[], others: readonly string[]): boolean {
  const known = new Set(others);
  return finalizers.length === others.length && finalizers.every((finalizer) => known.has(finalizer));
}
