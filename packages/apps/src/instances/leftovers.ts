import { operationLabel } from '../operations/labels.ts';
import { probeName } from '../operations/task-names.ts';
import { begunOperations, isFinal } from '../operations/types.ts';
import type { Scene } from './scene.ts';
import type { Step } from './step.ts';

/** How many operations that are over stay, and of how many the tasks stay, whose output can be read that long. */
const keptOperations = 20;
const keptOutputs = 3;

/** Old operations and tasks, and the probes of members that are gone. */
export function leftovers({ operations, tasks, members }: Scene): Step | undefined {
  const over = operations.filter(isFinal);
  const old = over.slice(0, Math.max(0, over.length - keptOperations));
  if (old.length > 0) return { kind: 'deleteOperations', operations: old };
  const latest = begunOperations(operations).filter(isFinal).slice(-keptOutputs);
  const kept = new Set([...operations.filter((one) => !isFinal(one)), ...latest].map(({ metadata }) => metadata.uid));
  const probes = new Set(members.map(({ metadata }) => probeName(metadata.uid ?? '')));
  const unused = tasks.filter(({ metadata }) => {
    const operation = metadata.labels?.[operationLabel];
    return operation === undefined ? !probes.has(metadata.name ?? '') : !kept.has(operation);
  });
  return unused.length > 0 ? { kind: 'deleteTasks', tasks: unused } : undefined;
}
