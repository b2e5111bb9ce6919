import { type Allocation, allocationKind } from '@capstan/api';
import { Button } from '@mantine/core';
import { useState } from 'react';
import { Confirm } from '../../components/confirm.tsx';
import { useCan } from '../../modules/access/use-can.ts';
import { ownerOf } from '../../modules/allocations/state.ts';
import { kubeClient } from '../../modules/kube/client.ts';
import { useAction } from '../../modules/toasts/use-action.ts';

/** Gives devices back. Those of a unit go with the unit, so they have no button. */
export function ReleaseButton({ workspace, allocation }: { readonly workspace: string; readonly allocation: Allocation }) {
  const { name = '', namespace = '', deletionTimestamp } = allocation.metadata;
  const [isAsked, setAsked] = useState(false);
  const canDelete = useCan({ workspace, namespace, verb: 'delete', kind: allocationKind });
  const release = useAction(() => kubeClient(workspace).resource<Allocation>(allocationKind).in(namespace).delete(name), {
    done: `${name} is released`,
  });
  if (!canDelete || ownerOf(allocation) !== undefined || deletionTimestamp !== undefined) return null;
  return (
    <>
      <Button variant="default" size="compact-xs" loading={release.isPending} onClick={() => setAsked(true)}>
        Release
      </Button>
      {isAsked && (
        <Confirm title={`Release ${name}?`} action="Release" onConfirm={() => release.mutate()} onClose={() => setAsked(false)}>
          Everything that runs on its devices outside of units ends, and its nodes are cleaned. Then others may get them.
        </Confirm>
      )}
    </>
  );
}
