import { isConflict, isNotFound, isTerminating, type ObjectKey, type ResourceType } from '@capstan/client';
import { done, type Result, requeueAfter, TerminalError } from './result.ts';

/** In milliseconds: how long the local copy may take to receive somebody else's write. */
const catchUp = 50;

/** The object that a reconcile is about. */
export interface Subject {
  readonly type: Pick<ResourceType, 'group' | 'resource'>;
  readonly key: ObjectKey;
}

/**
 * How a reconcile ends that threw `error`. Local copies are always a little behind, so some errors only mean that the copy was outdated:
 *
 * - conflict: somebody else wrote the object. It is reconciled again in a moment.
 * - not found, of the object itself, its namespace or its workspace: there is nothing left to do.
 * - the namespace or workspace is being deleted: nothing can be created in it any more, so there is nothing left to do.
 *
 * "Not found" of anything else is an error: the reconciler needs an object that does not exist, and nothing would call it again when it appears.
 */
export function resultOf(error: unknown, subject?: Subject): Result {
  if (error instanceof TerminalError) return { type: 'terminal', error };
  if (isConflict(error)) return requeueAfter(catchUp);
  if (isTerminating(error) || (subject !== undefined && isGone(error, subject))) return done;
  return { type: 'error', error };
}

function isGone(error: unknown, { type, key }: Subject): boolean {
  if (!isNotFound(error)) return false;
  const { kind, name, group = '' } = error.status.details ?? {};
  if (name === undefined) return false;
  if (kind === 'namespaces' && name === key.namespace) return true;
  if (kind === 'logicalclusters' && name === key.cluster) return true;
  return kind === type.resource && group === type.group && name === key.name;
}
