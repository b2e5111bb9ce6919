import { type Allocation, allocationKind } from '@capstan/api';
import { Button } from '@mantine/core';
import { Confirm } from '../../components/confirm.tsx';
import { useCan } from '../../modules/access/use-can.ts';
import { ownerOf } from '../../modules/allocations/state.ts';
import { kubeClient } from '../../modules/kube/client.ts';
import { useAction } from '../../modules/toasts/use-action.ts';

interface ReleaseButtonProps {
  readonly workspace: string;
  readonly allocation: Allocation;
  readonly onAsk: (allocation: Allocation) => void;
}

/** Gives devices back. Those of a unit go with the unit, so they have no button. */
export function ReleaseButton({ workspace, allocation, onAsk }: ReleaseButtonProps) {
  const { namespace = '', deletionTimestamp } = allocation.metadata;
  const canDelete = useCan({ workspace, namespace, verb: 'delete', kind: allocationKind });
  if (!canDelete || ownerOf(allocation) !== undefined || deletionTimestamp !== undefined) return null;
  return (
    <Button variant="default" size="compact-xs" onClick={() => onAsk(allocation)}>
      Release
    </Button>
  );
}

interface ReleaseQuestionProps {
  readonly workspace: string;
  readonly allocation: Allocation;
  readonly onClose: () => void;
}

/** Belongs to the page and not to the row, which moves to another table when the order gets its devices. */
export function ReleaseQuestion({ workspace, allocation, onClose }: ReleaseQuestionProps) {
  const { name = '', namespace = '' } = allocation.metadata;
  const release = useAction(() => kubeClient(workspace).resource<Allocation>(allocationKind).in(namespace).delete(name), {
    done: `${name} is released`,
  });
  return (
    <Confirm title={`Release ${name}?`} action="Release" onConfirm={() => release.mutate()} onClose={onClose}>
      Everything that runs on its devices outside of units ends, and its nodes are cleaned. Then others may get them.
    </Confirm>
  );
}
