import { claimLabelPrefix } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';

/** Removes the labels that are served but never stored from an object that a client sends back. */
export function dropClaimLabels({ metadata }: KubeObject): void {
  const { labels } = metadata;
  if (!labels) return;
  for (const key of Object.keys(labels)) if (key.startsWith(claimLabelPrefix)) delete labels[key];
}
