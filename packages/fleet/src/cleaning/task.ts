import { createHash } from 'node:crypto';
import {
  type BookingEntry,
  cleaningLabel,
  declaredCleanAnnotation,
  type NodeTask,
  newObject,
  nodeNamespace,
  nodeTaskKind,
} from '@capstan/api';

/** How far the cleaning after one allocation is. */
export type Outcome =
  /** A unit of the allocation runs, or may run: it is stopped first, and cleaned up after when it has ended. */
  | { readonly kind: 'used' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'open' }
  | { readonly kind: 'clean' }
  /** Something remains on the node, or nobody knows whether something does. */
  | { readonly kind: 'failed'; readonly why: string };

/** The same for every try to create it, so that a restart does not clean twice. */
export function taskName({ allocation, attempt }: Pick<BookingEntry, 'allocation' | 'attempt'>): string {
  return `clean-${allocation.uid}-${createHash('sha256').update(attempt).digest('hex').slice(0, 8)}`;
}

/** The task that removes everything that the allocation has left on the node. */
export function taskFor(node: string, entry: BookingEntry): NodeTask {
  const { uid } = entry.allocation;
  return newObject(nodeTaskKind, {
    metadata: { name: taskName(entry), namespace: nodeNamespace(node), labels: { [cleaningLabel]: uid } },
    spec: { type: 'node.clean', nodeClean: { allocation: uid, ...(entry.devices.length > 0 && { devices: entry.devices }) } },
  }) as NodeTask;
}

export function outcomeOf(task: NodeTask | undefined): Outcome {
  if (task === undefined) return { kind: 'missing' };
  const { metadata, spec, status } = task;
  if (metadata.annotations?.[declaredCleanAnnotation] === 'true') return { kind: 'clean' };
  if (status?.finishedAt === undefined || status.attempt !== spec.attempt) return { kind: 'open' };
  if (status.phase === 'Succeeded') return { kind: 'clean' };
  return { kind: 'failed', why: status.error?.message ?? `the task ${metadata.name} is ${status.phase}` };
}
