import { apiExportKind, groupResource } from '@capstan/api';
import * as hashes from '@capstan/api/hashes';

export const apiExports = groupResource(apiExportKind);

/** What a watch is seen through that selects by those labels, in a workspace or in all: it begins again when they become others. */
export const claimsName = (cluster: string): string => `claims/${cluster}/`;

/** How many values are kept. */
const capacity = 5_000;
const values = new Map<string, string>();

/** The same as `hashes` computes, kept for exports that were asked for lately. */
export function exportLabelValue(cluster: string, name: string): string {
  const key = `${cluster}:${name}`;
  let value = values.get(key);
  if (value === undefined) {
    if (values.size >= capacity) values.clear();
    values.set(key, (value = hashes.exportLabelValue(cluster, name)));
  }
  return value;
}
