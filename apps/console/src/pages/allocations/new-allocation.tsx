import { type Allocation, allocationKind } from '@capstan/api';
import { NumberInput, TextInput } from '@mantine/core';
import { useState } from 'react';
import { FormDialog } from '../../components/dialog.tsx';
import form from '../../components/form.module.css';
import { kubeClient } from '../../modules/kube/client.ts';
import { OfferingSelect } from '../../modules/offerings/offering-select.tsx';
import { useAction } from '../../modules/toasts/use-action.ts';

const namespace = 'default';

export function NewAllocation({ workspace, onClose }: { readonly workspace: string; readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [offering, setOffering] = useState<string | null>(null);
  const [nodes, setNodes] = useState(1);
  const isGood = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name) && offering !== null;
  const create = useAction(
    () => {
      const allocation = {
        apiVersion: `${allocationKind.group}/${allocationKind.version}`,
        kind: allocationKind.kind,
        metadata: { name, namespace },
        spec: { offering, nodes },
      } as unknown as Allocation;
      return kubeClient(workspace).resource<Allocation>(allocationKind).create(allocation);
    },
    { done: `${name} was ordered`, onDone: onClose },
  );
  return (
    <FormDialog
      title="Order GPUs"
      action="Order"
      isDisabled={!isGood}
      isPending={create.isPending}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <p className={form['hint']}>
        Units order by themselves. An order of your own keeps its devices until you release it, and counts all that time.
      </p>
      <TextInput label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus />
      <OfferingSelect workspace={workspace} value={offering} onChange={setOffering}>
        The owner of the platform can offer a part of the nodes. Until then, units can ask for their own amounts.
      </OfferingSelect>
      <NumberInput
        label="Nodes"
        description="All of them or none."
        min={1}
        max={1024}
        value={nodes}
        onChange={(value) => setNodes(Number(value) || 1)}
      />
    </FormDialog>
  );
}
