import { apiExportKind, type ClusterId, groupResource } from '@capstan/api';
import * as hashes from '@capstan/api/hashes';
import { BoundedMap } from '@capstan/machinery';

export const apiExports = groupResource(apiExportKind);

/** The name by which watches that select by claim labels, in one workspace or in all, are expired when the claims change. */
export const claimsName = (cluster: ClusterId): string => `claims/${cluster}/`;

/** How many values are cached. */
const capacity = 5_000;
const values = new BoundedMap<string, string>(capacity);

/** Caches `hashes.exportLabelValue` for recently used exports. */
export function exportLabelValue(cluster: ClusterId, name: string): string {
  const key = `${cluster}:${name}`;
  let value = values.get(key);
  if (value === undefined) {
    values.set(key, (value = hashes.exportLabelValue(cluster, name)));
  }
  return value;
}
