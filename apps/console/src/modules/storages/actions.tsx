import { type GPUStorage, gpuStorageKind } from '@capstan/api';
import { Button, Modal, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Confirm } from '../../components/confirm.tsx';
import form from '../../components/form.module.css';
import { Icon } from '../../components/icon.tsx';
import { useCanEach } from '../access/use-can.ts';
import { kubeClient } from '../kube/client.ts';
import { useAction } from '../toasts/use-action.ts';

interface StorageActionsProps {
  readonly workspace: string;
  readonly storage: GPUStorage;
  readonly onDeleted?: () => void;
}

/** Resize, recover and delete, as far as the person may and it makes sense. */
export function StorageActions({ workspace, storage, onDeleted }: StorageActionsProps) {
  const { name = '', namespace = '' } = storage.metadata;
  const storages = kubeClient(workspace).resource<GPUStorage>(gpuStorageKind).in(namespace);
  const [asked, setAsked] = useState<'resize' | 'delete'>();
  const [size, setSize] = useState(String(storage.spec.size));
  const [canChange, canDelete] = useCanEach(
    ['patch', 'delete'].map((verb) => ({ workspace, namespace, verb, kind: gpuStorageKind, name })),
  );
  const change = (spec: { size?: string; recover?: number }) => storages.patch(name, { type: 'merge', patch: { spec } });
  const recover = useAction(() => change({ recover: storage.spec.recover + 1 }), { done: `${name} is tried again` });
  const resize = useAction(() => change({ size }), { done: `${name} becomes larger`, onDone: () => setAsked(undefined) });
  const remove = useAction(() => storages.delete(name), { done: `${name} is deleted`, ...(onDeleted && { onDone: onDeleted }) });
  const users = storage.status?.mountedBy ?? [];
  if (storage.metadata.deletionTimestamp !== undefined) return null;
  return (
    <>
      {canChange && storage.status?.recoverable === true && (
        <Button leftSection={<Icon name="retry" size={13} />} loading={recover.isPending} onClick={() => recover.mutate()}>
          Recover
        </Button>
      )}
      {canChange && (
        <Button variant="default" onClick={() => setAsked('resize')}>
          Resize
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
      <Modal opened={asked === 'resize'} onClose={() => setAsked(undefined)} title={`Resize ${name}`} centered>
        <form
          className={form['group']}
          onSubmit={(event) => {
            event.preventDefault();
            resize.mutate();
          }}
        >
          <TextInput
            label="Size"
            description="A storage grows while units use it. It never shrinks."
            value={size}
            onChange={(event) => setSize(event.currentTarget.value)}
            data-autofocus
          />
          <Button type="submit" loading={resize.isPending}>
            Resize
          </Button>
        </form>
      </Modal>
      {asked === 'delete' && (
        <Confirm
          title={`Delete ${name}?`}
          action="Delete"
          typed={name}
          onConfirm={() => remove.mutate()}
          onClose={() => setAsked(undefined)}
        >
          {storage.spec.deletionPolicy === 'Retain'
            ? 'Its files stay on their node. A storage of the same name and namespace gets them back.'
            : 'All of its files are deleted.'}
          {users.length > 0 && ` It stays until these units have ended: ${users.join(', ')}.`}
        </Confirm>
      )}
    </>
  );
}
