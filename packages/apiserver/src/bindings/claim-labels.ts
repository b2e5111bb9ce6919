import { claimLabelPrefix } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';

/** Removes claim labels, which are served but never stored, from an object that a client sends. */
export function dropClaimLabels({ metadata }: KubeObject): void {
  const { labels } = metadata;
  if (!labels) return;
  for (const key of Object.keys(labels)) if (key.startsWith(claimLabelPrefix)) delete labels[key];
}
