import type { Entry } from '../contract.ts';
import { compareKeys } from '../keys.ts';
import { positionIn, positionOf } from './revisions.ts';

/**
 * Computes the state between the writes of a transaction from the states before and after it: each key is as after it if its own write is
 * at or below the revision, and otherwise as before. Keys that were not written are the same in both.
 */
export function mergeViews(before: readonly Entry[], after: readonly Entry[], revision: number): Entry[] {
  const position = positionIn(revision);
  const entries = after.filter((entry) => positionOf(entry.key) <= position);
  for (const entry of before) if (positionOf(entry.key) > position) entries.push(entry);
  return entries.sort((a, b) => compareKeys(a.key, b.key));
}
