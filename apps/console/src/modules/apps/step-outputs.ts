import type { AppOperation, AppStep } from '@capstan/api';

/** A step whose output can be read. */
export interface StepOutput {
  /** Of the step among all operations, for addresses. */
  readonly id: string;
  readonly operation: AppOperation;
  readonly step: AppStep;
}

/** The outputs of operations, in the order of these, and of their steps. A step without a node has none, or it is a secret. */
export function outputsOf(operations: readonly AppOperation[]): readonly StepOutput[] {
  return operations.flatMap((operation) =>
    (operation.status?.steps ?? [])
      .filter(({ node, task }) => node !== undefined && task !== undefined)
      .toSorted((one, other) => one.stage - other.stage)
      .map((step) => ({ id: outputId(operation, step), operation, step })),
  );
}

export const outputId = ({ metadata }: AppOperation, step: AppStep): string => `${metadata.name}/${step.id}`;

/** The one that the address names. Otherwise, of the newest operation with outputs: a step that runs, one that failed, or the last one. */
export function chosenOutput(outputs: readonly StepOutput[], id: string | undefined): StepOutput | undefined {
  const newest = outputs.filter(({ operation }) => operation === outputs[0]?.operation);
  return (
    outputs.find((output) => output.id === id) ??
    newest.find(({ step }) => step.state === 'running') ??
    newest.findLast(({ step }) => step.state === 'failed') ??
    newest.at(-1)
  );
}
