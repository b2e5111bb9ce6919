/** Warnings for clients that use these kinds, by `group/resource`. */
export const deprecations: ReadonlyMap<string, string> = new Map([
  ['/componentstatuses', 'v1 ComponentStatus is deprecated in v1.19+'],
  ['/endpoints', 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'],
]);
