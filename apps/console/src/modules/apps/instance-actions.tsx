import { type AppInstance, appInstanceKind } from '@capstan/api';
import { Button } from '@mantine/core';
import { useState } from 'react';
import { Confirm } from '../../components/confirm.tsx';
import { Icon } from '../../components/icon.tsx';
import { useCanEach } from '../access/use-can.ts';
import { useAction } from '../toasts/use-action.ts';
import { deleteInstance, wish } from './actions.ts';
import { isPreview } from './state.ts';

interface InstanceActionsProps {
  readonly workspace: string;
  readonly instance: AppInstance;
}

/** Stop, start, go on and delete, if the person may do so and it makes sense now. */
export function InstanceActions({ workspace, instance }: InstanceActionsProps) {
  const { name = '', namespace = '' } = instance.metadata;
  const place = { workspace, namespace };
  const [asked, setAsked] = useState<'stop' | 'delete'>();
  const [canChange, canDelete] = useCanEach(['patch', 'delete'].map((verb) => ({ ...place, verb, kind: appInstanceKind, name })));
  const start = useAction(() => wish(place, name, { stopped: false }), { done: `${name} starts` });
  const stop = useAction(() => wish(place, name, { stopped: true }), { done: `${name} stops` });
  const goOn = useAction(() => wish(place, name, { paused: false }), { done: `${name} goes on` });
  const remove = useAction(() => deleteInstance(place, name), { done: `${name} is removed from its nodes` });
  if (instance.metadata.deletionTimestamp !== undefined) return null;
  const { stopped, paused } = instance.spec;
  const isDeployed = instance.status?.revision !== undefined;
  return (
    <>
      {canChange && paused && !isPreview(instance) && (
        <Button variant="default" leftSection={<Icon name="play" size={13} />} loading={goOn.isPending} onClick={() => goOn.mutate()}>
          End the pause
        </Button>
      )}
      {canChange && stopped && (
        <Button variant="default" leftSection={<Icon name="play" size={13} />} loading={start.isPending} onClick={() => start.mutate()}>
          Start
        </Button>
      )}
      {canChange && !stopped && isDeployed && (
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
          The services of all members stop, and their state stays on the nodes. The allocations stay yours. You can start it again.
        </Confirm>
      )}
      {asked === 'delete' && (
        <Confirm
          title={`Delete ${name}?`}
          action="Delete"
          {...(isDeployed && { typed: name })}
          onConfirm={() => remove.mutate()}
          onClose={() => setAsked(undefined)}
        >
          It is removed from its nodes, with everything that it keeps there. The allocations stay yours.
        </Confirm>
      )}
    </>
  );
}
