import type { Entry } from '../contract.ts';
import { compareKeys } from '../keys.ts';
import { positionIn, positionOf } from './revisions.ts';

/**
 * The state at a revision between the writes of a transaction, out of the states before and after the transaction: each key is as it was after it, if its
 * own write is at or below the revision, and else as before. A key that was not written is the same in both.
 */
export function mergeViews(before: readonly Entry[], after: readonly Entry[], revision: number): Entry[] {
  const position = positionIn(revision);
  const entries = after.filter((entry) => positionOf(entry.key) <= position);
  for (const entry of before) if (positionOf(entry.key) > position) entries.push(entry);
  return entries.sort((a, b) => compareKeys(a.key, b.key));
}
