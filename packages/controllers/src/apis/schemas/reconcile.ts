import { done, type Result, requeueAfter } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';

/** In milliseconds. A new copy may not be in use yet: it is created before the binding names it. */
const youth = 30 * 60_000;

export interface CopyActions {
  readonly isUsed: (name: string) => boolean;
  /** Deletes the copy, and that of its conversion. */
  readonly remove: (copy: KubeObject) => Promise<void>;
  readonly now: () => number;
}

/** Deletes the copy of a schema that no binding uses. */
export async function reconcileCopy(copy: KubeObject | undefined, { isUsed, remove, now }: CopyActions): Promise<Result> {
  if (copy === undefined || isUsed(copy.metadata.name ?? '')) return done;
  const age = now() - Date.parse(copy.metadata.creationTimestamp ?? '');
  if (age < youth) return requeueAfter(youth - age);
  await remove(copy);
  return done;
}
