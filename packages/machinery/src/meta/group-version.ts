/** An API group, empty for the core group, and a version of it. */
export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/** Splits an apiVersion such as `apps/v1` or `v1`. */
export function parseApiVersion(apiVersion: string): GroupVersion {
  const slash = apiVersion.indexOf('/');
  return { group: slash < 0 ? '' : apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}
