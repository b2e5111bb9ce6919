import { cloneSpec, type GPUStorage, gpuStorageKind, newObject, snapshotName, snapshotSpec } from '@capstan/api';
import { isQuantity } from '@capstan/machinery/objects';
import { TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { FormDialog } from '../../components/dialog.tsx';
import { kubeClient } from '../kube/client.ts';
import { useAction } from '../toasts/use-action.ts';

/** A snapshot never changes; a clone is a storage of its own. */
export type CopyKind = 'snapshot' | 'clone';

interface CopyDialogProps {
  readonly workspace: string;
  readonly storage: GPUStorage;
  readonly copy: CopyKind;
  readonly onClose: () => void;
}

/** Creates a snapshot or a clone of a storage. A clone is then shown, because somebody wants to use it. */
export function CopyDialog({ workspace, storage, copy, onClose }: CopyDialogProps) {
  const { name: source = '', namespace = '' } = storage.metadata;
  const navigate = useNavigate();
  const isSnapshot = copy === 'snapshot';
  const [name, setName] = useState(isSnapshot ? snapshotName(source, new Date()) : '');
  const [size, setSize] = useState(String(storage.spec.size));
  const isGood = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name) && isQuantity(size);
  const create = useAction(
    () => {
      const spec = { ...(isSnapshot ? snapshotSpec(storage) : cloneSpec(storage)), size };
      return kubeClient(workspace)
        .resource<GPUStorage>(gpuStorageKind)
        .create(newObject(gpuStorageKind, { metadata: { name, namespace }, spec }) as GPUStorage);
    },
    {
      done: isSnapshot ? `The snapshot ${name} is taken` : `${name} is created`,
      onDone: () => {
        onClose();
        if (!isSnapshot) void navigate({ to: '/w/$workspace/storages/$namespace/$name', params: { workspace, namespace, name } });
      },
    },
  );
  return (
    <FormDialog
      title={isSnapshot ? `Take a snapshot of ${source}` : `Clone ${source}`}
      action={isSnapshot ? 'Take it' : 'Clone'}
      isDisabled={!isGood}
      isPending={create.isPending}
      onSubmit={() => create.mutate()}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description={
          isSnapshot ? 'It keeps the files as they are now, on the same node.' : 'A storage with the same files, on the same node.'
        }
        placeholder={`${source}-2`}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      <TextInput
        label="Size"
        description={isSnapshot ? 'The files must fit. It counts against quotas.' : 'The files must fit. It may grow later.'}
        value={size}
        error={isQuantity(size) ? undefined : 'An amount, such as 100Gi'}
        onChange={(event) => setSize(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
