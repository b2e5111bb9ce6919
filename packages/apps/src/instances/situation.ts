import type { AppOperation } from '@capstan/api';
import { isDeleting } from '@capstan/controller';
import { placeOf } from '../operations/running.ts';
import type { Situation } from '../status/actions.ts';
import type { Scene } from './scene.ts';

export function situationOf(scene: Scene): Situation {
  const { instance, app, members, operations, observation } = scene;
  const refused = observation.kind === 'answer' ? observation.value.refused : undefined;
  return {
    instance,
    app,
    members,
    operations,
    stuck: stuckBecause(scene),
    ...(refused && {
      refused: refused.map(({ operation, member, reason, message }) => ({
        action: operation,
        ...(member !== undefined && { member }),
        reason,
        message,
      })),
    }),
  };
}

/** The removal of an instance, the latest if it was begun again. */
export function removalOf(operations: readonly AppOperation[]): AppOperation | undefined {
  return operations.filter(({ spec }) => spec.type === 'decommission' && !spec.dryRun).at(-1);
}

/** Why the removal cannot go on by itself. */
function stuckBecause(scene: Scene): string | undefined {
  if (!isDeleting(scene.instance)) return undefined;
  const removal = removalOf(scene.operations);
  if (removal === undefined) return undefined;
  const { state, steps = [], errors = [], message = '' } = removal.status ?? {};
  if (state === 'failed' || state === 'needs_intervention') return message;
  // Without an adapter nobody knows the steps.
  if (state === 'retrying' && steps.length === 0 && errors.length > 0) return message;
  const silent = steps.find(
    (step) => step.state !== 'succeeded' && step.state !== 'skipped' && placeOf(step.member ?? '', scene).kind === 'silent',
  );
  return silent && `the node of ${silent.member} is silent`;
}
