import { type GPUStorage, gpuStorageKind } from '@capstan/api';
import { isQuantity } from '@capstan/machinery/objects';
import { Checkbox, TextInput } from '@mantine/core';
import { useState } from 'react';
import { FormDialog } from '../../components/dialog.tsx';
import { kubeClient } from '../../modules/kube/client.ts';
import { useAction } from '../../modules/toasts/use-action.ts';

const namespace = 'default';

export function NewStorage({ workspace, onClose }: { readonly workspace: string; readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [size, setSize] = useState('10Gi');
  const [isRetained, setRetained] = useState(false);
  const isGood = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name) && isQuantity(size);
  const create = useAction(
    () => {
      const storage = {
        apiVersion: `${gpuStorageKind.group}/${gpuStorageKind.version}`,
        kind: gpuStorageKind.kind,
        metadata: { name, namespace },
        spec: { size, ...(isRetained && { deletionPolicy: 'Retain' }) },
      } as unknown as GPUStorage;
      return kubeClient(workspace).resource<GPUStorage>(gpuStorageKind).create(storage);
    },
    { done: `${name} was created`, onDone: onClose },
  );
  return (
    <FormDialog
      title="New storage"
      action="Create"
      isDisabled={!isGood}
      isPending={create.isPending}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <TextInput label="Name" placeholder="data" value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus />
      <TextInput
        label="Size"
        description="Such as 100Gi. It may grow later."
        value={size}
        error={isQuantity(size) ? undefined : 'An amount, such as 100Gi'}
        onChange={(event) => setSize(event.currentTarget.value)}
      />
      <Checkbox
        label="Keep the files on their node when the storage is deleted"
        checked={isRetained}
        onChange={(event) => setRetained(event.currentTarget.checked)}
      />
    </FormDialog>
  );
}
