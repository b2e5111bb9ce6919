import type { NodeTask, TaskError } from '@capstan/api';

export type Outcome =
  | { readonly kind: 'open' }
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'failed'; readonly error: TaskError };

/** How an attempt of a step has ended. A task whose agent does not know whether it ran may run again: steps have the same effects twice. */
export function outcomeOf({ metadata, spec, status }: NodeTask): Outcome {
  if (status?.finishedAt === undefined || status.attempt !== spec.attempt) return { kind: 'open' };
  if (status.phase === 'Succeeded') return { kind: 'succeeded' };
  if (status.phase === 'Cancelled') return { kind: 'cancelled' };
  const unknown = { code: 'OutcomeUnknown', message: `the task ${metadata.name} is ${status.phase}`, userFixable: false, retryable: true };
  return { kind: 'failed', error: status.error ?? unknown };
}
