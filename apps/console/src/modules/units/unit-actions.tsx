import { type GPUUnit, gpuUnitKind } from '@capstan/api';
import { ActionButtons } from '../../components/action-buttons.tsx';
import { useCanEach } from '../access/use-can.ts';
import { useAction } from '../toasts/use-action.ts';
import { deleteUnit, startUnit, stopUnit } from './actions.ts';
import { isOver } from './state.ts';

interface UnitActionsProps {
  readonly workspace: string;
  readonly unit: GPUUnit;
  readonly onDeleted?: () => void;
}

/** The buttons that the person may press and that make sense now. */
export function UnitActions({ workspace, unit, onDeleted }: UnitActionsProps) {
  const { name = '', namespace = '' } = unit.metadata;
  const place = { workspace, namespace };
  const [canChange = false, canDelete = false] = useCanEach(
    ['patch', 'delete'].map((verb) => ({ ...place, verb, kind: gpuUnitKind, name })),
  );
  const start = useAction(() => startUnit(place, unit), { done: `${name} starts` });
  const stop = useAction(() => stopUnit(place, name), { done: `${name} stops` });
  const remove = useAction(() => deleteUnit(place, name), { done: `${name} is deleted`, ...(onDeleted && { onDone: onDeleted }) });
  if (unit.metadata.deletionTimestamp !== undefined) return null;
  const ending = isOver(unit)
    ? 'Its output is deleted with it.'
    : 'It has not ended: its program is stopped, and its output is deleted with it.';
  return (
    <ActionButtons
      actions={[
        canChange && isOver(unit) && { label: 'Start', icon: 'play', isPending: start.isPending, run: () => start.mutate() },
        canChange &&
          !isOver(unit) &&
          unit.spec.running && {
            label: 'Stop',
            icon: 'stop',
            isPending: stop.isPending,
            run: () => stop.mutate(),
            confirm: {
              title: `Stop ${name}?`,
              text: `The program gets SIGTERM, and SIGKILL after ${unit.spec.stopGrace}. Its GPUs go to others; storages stay. You can start it again.`,
              isDangerous: false,
            },
          },
        canDelete && {
          label: 'Delete',
          icon: 'trash',
          isPending: remove.isPending,
          run: () => remove.mutate(),
          confirm: { title: `Delete ${name}?`, text: `${ending} Storages stay.` },
        },
      ]}
    />
  );
}
