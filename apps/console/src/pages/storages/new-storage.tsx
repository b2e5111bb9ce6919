import { type GPUStorage, gpuStorageKind } from '@capstan/api';
import { isQuantity } from '@capstan/machinery/objects';
import { Button, Checkbox, Modal, TextInput } from '@mantine/core';
import { useState } from 'react';
import form from '../../components/form.module.css';
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
    <Modal opened onClose={onClose} title="New storage" centered>
      <form
        className={form['group']}
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
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
        <Button type="submit" size="sm" disabled={!isGood} loading={create.isPending}>
          Create
        </Button>
      </form>
    </Modal>
  );
}
