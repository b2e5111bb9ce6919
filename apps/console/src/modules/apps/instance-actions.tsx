import { type AppInstance, appInstanceKind } from '@capstan/api';
import { ActionButtons } from '../../components/action-buttons.tsx';
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
  const [canChange = false, canDelete = false] = useCanEach(
    ['patch', 'delete'].map((verb) => ({ ...place, verb, kind: appInstanceKind, name })),
  );
  const start = useAction(() => wish(place, name, { stopped: false }), { done: `${name} starts` });
  const stop = useAction(() => wish(place, name, { stopped: true }), { done: `${name} stops` });
  const goOn = useAction(() => wish(place, name, { paused: false }), { done: `${name} goes on` });
  const remove = useAction(() => deleteInstance(place, name), { done: `${name} is removed from its nodes` });
  if (instance.metadata.deletionTimestamp !== undefined) return null;
  const { stopped, paused } = instance.spec;
  const isDeployed = instance.status?.revision !== undefined;
  return (
    <ActionButtons
      actions={[
        canChange &&
          paused &&
          !isPreview(instance) && { label: 'End the pause', icon: 'play', isPending: goOn.isPending, run: () => goOn.mutate() },
        canChange && stopped && { label: 'Start', icon: 'play', isPending: start.isPending, run: () => start.mutate() },
        canChange &&
          !stopped &&
          isDeployed && {
            label: 'Stop',
            icon: 'stop',
            isPending: stop.isPending,
            run: () => stop.mutate(),
            confirm: {
              title: `Stop ${name}?`,
              text: 'The services of all members stop, and their state stays on the nodes. The allocations stay yours. You can start it again.',
              isDangerous: false,
            },
          },
        canDelete && {
          label: 'Delete',
          icon: 'trash',
          isPending: remove.isPending,
          run: () => remove.mutate(),
          confirm: {
            title: `Delete ${name}?`,
            text: 'It is removed from its nodes, with everything that it keeps there. The allocations stay yours.',
            typed: isDeployed ? name : undefined,
          },
        },
      ]}
    />
  );
}
