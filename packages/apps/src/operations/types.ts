import { type AppOperation, finalOperationStates } from '@capstan/api';

/** Operations that change another one, or the instance, at once. They have no steps. */
export const controlTypes: ReadonlySet<string> = new Set(['retry', 'resume', 'cancel', 'acknowledge', 'force-delete']);

/** Operations that only the platform begins. */
export const ownTypes: ReadonlySet<string> = new Set(['deploy', 'change', 'decommission', 'stop', 'start']);

/** Operations of every app that people begin. */
export const workTypes: ReadonlySet<string> = new Set(['reconcile', 'repair']);

/** Operations that make the members what the wish says. */
export const fulfillingTypes: ReadonlySet<string> = new Set(['deploy', 'change']);

export const isControl = ({ spec }: AppOperation): boolean => controlTypes.has(spec.type);
export const isFinal = ({ status }: AppOperation): boolean => finalOperationStates.has(status?.state ?? '');
/** An operation with steps that are done. */
export const isWork = (operation: AppOperation): boolean => !isControl(operation) && !operation.spec.dryRun;

/** On an operation that the platform has begun by itself because a member was not healthy. */
export const automaticAnnotation = 'apps.capstan.dev/automatic';

/** The operation that runs, or is the next to run. */
export function currentOperation(operations: readonly AppOperation[]): AppOperation | undefined {
  const open = operations.filter((one) => isWork(one) && !isFinal(one));
  return open.find(({ status }) => status?.state !== undefined && status.state !== 'pending') ?? open[0];
}

/** Operations with steps that have begun, in the order in which they did. */
export function begunOperations(operations: readonly AppOperation[]): AppOperation[] {
  const begun = operations.filter((one) => isWork(one) && one.status?.sequence !== undefined);
  return begun.toSorted((one, other) => one.status!.sequence! - other.status!.sequence!);
}

/** The operation that ran last, or runs. */
export function lastOperation(operations: readonly AppOperation[]): AppOperation | undefined {
  const current = currentOperation(operations);
  return current?.status?.sequence !== undefined ? current : (begunOperations(operations).at(-1) ?? current);
}

/** The place of the operation that begins next. */
export function nextSequence(operations: readonly AppOperation[]): number {
  return (begunOperations(operations).at(-1)?.status?.sequence ?? 0) + 1;
}
