import { type GPUNode, gpuNodeKind, platformWorkspace } from '@capstan/api';
import { Button, Menu } from '@mantine/core';
import { useState } from 'react';
import { Confirm } from '../../components/confirm.tsx';
import { Icon } from '../../components/icon.tsx';
import { useCanEach } from '../access/use-can.ts';
import { count } from '../format/format.ts';
import { kubeClient } from '../kube/client.ts';
import { useAction } from '../toasts/use-action.ts';
import { conditionOf } from './node-state.ts';

const workspace = platformWorkspace;
type NodeSpec = { unschedulable?: boolean; maintenance?: boolean; lost?: boolean };

/** Cordon, drain, maintenance and removal, for owners of the platform. */
export function NodeActions({
  node,
  booked,
  onRemoved,
}: {
  readonly node: GPUNode;
  readonly booked: number;
  readonly onRemoved: () => void;
}) {
  const name = node.metadata.name!;
  const nodes = kubeClient(workspace).resource<GPUNode>(gpuNodeKind);
  const [asked, setAsked] = useState<'drain' | 'remove' | 'lost'>();
  const [canChange, canDelete] = useCanEach(['patch', 'delete'].map((verb) => ({ workspace, verb, kind: gpuNodeKind, name })));
  const change = useAction(
    ({ spec }: { readonly spec: NodeSpec; readonly done: string }) => nodes.patch(name, { type: 'merge', patch: { spec } }),
    {
      done: ({ done }) => done,
    },
  );
  const remove = useAction(() => nodes.delete(name), { done: `${name} is removed`, onDone: onRemoved });
  const isOut = node.spec?.unschedulable === true || node.spec?.maintenance === true;
  const isEnrolled = node.status?.identity !== undefined;
  const isHeard = conditionOf(node, 'Ready')?.status === 'True';
  const set = (spec: NodeSpec, done: string): void => change.mutate({ spec, done });
  return (
    <>
      {canChange &&
        (isOut ? (
          <Button variant="default" onClick={() => set({ unschedulable: false, maintenance: false }, `${name} may get allocations again`)}>
            Uncordon
          </Button>
        ) : (
          <>
            <Button variant="default" onClick={() => set({ unschedulable: true }, `${name} gets no new allocations`)}>
              Cordon
            </Button>
            <Button variant="default" onClick={() => setAsked('drain')}>
              Drain
            </Button>
          </>
        ))}
      {(canChange || canDelete) && (
        <Menu>
          <Menu.Target>
            <Button variant="default" aria-label="More">
              <Icon name="more" />
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {canChange && node.spec?.maintenance !== true && (
              <Menu.Item onClick={() => set({ maintenance: true }, `${name} is in maintenance`)}>Begin maintenance</Menu.Item>
            )}
            {canChange && isEnrolled && !isHeard && node.spec?.lost !== true && (
              <Menu.Item onClick={() => setAsked('lost')}>Declare the machine lost</Menu.Item>
            )}
            {canDelete && (
              <Menu.Item color="red" onClick={() => setAsked('remove')}>
                Remove from the fleet
              </Menu.Item>
            )}
          </Menu.Dropdown>
        </Menu>
      )}
      {asked === 'drain' && (
        <Confirm
          title={`Drain ${name}?`}
          action="Drain"
          isDangerous={false}
          onConfirm={() => set({ unschedulable: true }, `${name} gets no new allocations, and is empty when the present ones have ended`)}
          onClose={() => setAsked(undefined)}
        >
          It gets no new allocations. Nothing of a tenant is ended:{' '}
          {booked === 0 ? 'nothing is booked on it now.' : `${count(booked, 'allocation')} below stay until their owners delete them.`}
        </Confirm>
      )}
      {asked === 'remove' && (
        <Confirm
          title={`Remove ${name}?`}
          action="Remove"
          typed={name}
          onConfirm={() => remove.mutate()}
          onClose={() => setAsked(undefined)}
        >
          Its agent loses all connections at once, with every shell and port-forward through them.
          {booked > 0 && ` ${count(booked, 'allocation')} still have devices on it; the node stays until they are deleted.`}
        </Confirm>
      )}
      {asked === 'lost' && (
        <Confirm
          title={`Declare ${name} lost?`}
          action="Declare lost"
          typed={name}
          onConfirm={() => set({ lost: true }, `${name} is declared lost`)}
          onClose={() => setAsked(undefined)}
        >
          Its units start elsewhere. Switch the machine off first: if it still runs, its programs run twice.
        </Confirm>
      )}
    </>
  );
}
