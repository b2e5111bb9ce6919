import { type GPUUnit, gpuUnitKind } from '@capstan/api';
import { Button } from '@mantine/core';
import { useState } from 'react';
import { Confirm } from '../../components/confirm.tsx';
import { Icon } from '../../components/icon.tsx';
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
  const [asked, setAsked] = useState<'stop' | 'delete'>();
  const [canChange, canDelete] = useCanEach(['patch', 'delete'].map((verb) => ({ ...place, verb, kind: gpuUnitKind, name })));
  const start = useAction(() => startUnit(place, unit), { done: `${name} starts` });
  const stop = useAction(() => stopUnit(place, name), { done: `${name} stops` });
  const remove = useAction(() => deleteUnit(place, name), { done: `${name} is deleted`, ...(onDeleted && { onDone: onDeleted }) });
  if (unit.metadata.deletionTimestamp !== undefined) return null;
  return (
    <>
      {canChange && isOver(unit) && (
        <Button variant="default" leftSection={<Icon name="play" size={13} />} loading={start.isPending} onClick={() => start.mutate()}>
          Start
        </Button>
      )}
      {canChange && !isOver(unit) && unit.spec.running && (
        <Button variant="default" leftSection={<Icon name="stop" size={13} />} loading={stop.isPending} onClick={() => setAsked('stop')}>
          Stop
        </Button>
      )}
      {canDelete && (
        <Button
          variant="default"
          leftSection={<Icon name="trash" size={13} />}
          loading={remove.isPending}
          onClick={() => setAsked('delete')}
        >
          Delete
        </Button>
      )}
      {asked === 'stop' && (
        <Confirm
          title={`Stop ${name}?`}
          action="Stop"
          isDangerous={false}
          onConfirm={() => stop.mutate()}
          onClose={() => setAsked(undefined)}
        >
          The program gets SIGTERM, and SIGKILL after {unit.spec.stopGrace}. Its GPUs go to others; storages stay. You can start it again.
        </Confirm>
      )}
      {asked === 'delete' && (
        <Confirm title={`Delete ${name}?`} action="Delete" onConfirm={() => remove.mutate()} onClose={() => setAsked(undefined)}>
          {isOver(unit) ? 'Its output is deleted with it.' : 'It has not ended: its program is stopped, and its output is deleted with it.'}{' '}
          Storages stay.
        </Confirm>
      )}
    </>
  );
}
