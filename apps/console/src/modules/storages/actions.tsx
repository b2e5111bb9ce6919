import { type GPUStorage, gpuStorageKind, isCloneable, isSnapshottable } from '@capstan/api';
import { isQuantity } from '@capstan/machinery/objects';
import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { ActionButtons } from '../../components/action-buttons.tsx';
import { FormDialog } from '../../components/dialog.tsx';
import { useCanEach } from '../access/use-can.ts';
import { kubeClient } from '../kube/client.ts';
import { useAction } from '../toasts/use-action.ts';
import { CopyDialog, type CopyKind } from './copy-dialog.tsx';

interface StorageActionsProps {
  readonly workspace: string;
  readonly storage: GPUStorage;
  readonly onDeleted?: () => void;
}

/** Recover, take a snapshot, clone, resize and delete, as far as the person may and it makes sense. */
export function StorageActions({ workspace, storage, onDeleted }: StorageActionsProps) {
  const { name = '', namespace = '' } = storage.metadata;
  const storages = kubeClient(workspace).resource<GPUStorage>(gpuStorageKind).in(namespace);
  const [isResizing, setResizing] = useState(false);
  const [size, setSize] = useState(String(storage.spec.size));
  const [copying, setCopying] = useState<CopyKind>();
  const [canChange = false, canDelete = false, canCreate = false] = useCanEach([
    ...['patch', 'delete'].map((verb) => ({ workspace, namespace, verb, kind: gpuStorageKind, name })),
    { workspace, namespace, verb: 'create', kind: gpuStorageKind },
  ]);
  const change = (spec: { size?: string; recover?: number }) => storages.patch(name, { type: 'merge', patch: { spec } });
  const recover = useAction(() => change({ recover: storage.spec.recover + 1 }), { done: `${name} is tried again` });
  const resize = useAction(() => change({ size }), { done: `${name} becomes larger`, onDone: () => setResizing(false) });
  const remove = useAction(() => storages.delete(name), { done: `${name} is deleted`, ...(onDeleted && { onDone: onDeleted }) });
  if (storage.metadata.deletionTimestamp !== undefined) return null;
  return (
    <>
      <ActionButtons
        actions={[
          canChange &&
            storage.status?.recoverable === true && {
              label: 'Recover',
              icon: 'retry',
              isPrimary: true,
              isPending: recover.isPending,
              run: () => recover.mutate(),
            },
          canCreate && isSnapshottable(storage) && { label: 'Take a snapshot', run: () => setCopying('snapshot') },
          canCreate && isCloneable(storage) && { label: 'Clone', icon: 'copy', run: () => setCopying('clone') },
          canChange && { label: 'Resize', run: () => setResizing(true) },
          canDelete && {
            label: 'Delete',
            icon: 'trash',
            isPending: remove.isPending,
            run: () => remove.mutate(),
            confirm: { title: `Delete ${name}?`, text: deletionWords(storage), typed: name },
          },
        ]}
      />
      {isResizing && (
        <FormDialog
          title={`Resize ${name}`}
          action="Resize"
          isDisabled={!isQuantity(size)}
          isPending={resize.isPending}
          onSubmit={() => resize.mutate()}
          onClose={() => setResizing(false)}
        >
          <TextInput
            label="Size"
            description="A storage grows while units use it. It never shrinks."
            value={size}
            error={isQuantity(size) ? undefined : 'An amount, such as 100Gi'}
            onChange={(event) => setSize(event.currentTarget.value)}
            data-autofocus
          />
        </FormDialog>
      )}
      {copying !== undefined && <CopyDialog workspace={workspace} storage={storage} copy={copying} onClose={() => setCopying(undefined)} />}
    </>
  );
}

function deletionWords({ spec, status }: GPUStorage): string {
  const users = status?.mountedBy ?? [];
  const files =
    spec.deletionPolicy === 'Retain'
      ? 'Its files stay on their node. A storage of the same name and namespace gets them back.'
      : 'All of its files are deleted.';
  return users.length === 0 ? files : `${files} It stays until these units have ended: ${users.join(', ')}.`;
}
