import { type GPUStorage, gpuStorageKind, storageSource } from '@capstan/api';
import { Button } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Icon } from '../../components/icon.tsx';
import { Meter } from '../../components/meter.tsx';
import { Page } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { useCan } from '../../modules/access/use-can.ts';
import { Age } from '../../modules/format/age.tsx';
import { amountOf, bytes, sentence, sizeWords } from '../../modules/format/format.ts';
import { useLive } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { stateOf, usedShare } from '../../modules/storages/state.ts';
import { useWorkspace } from '../../modules/workspaces/use-workspace.ts';
import { NewStorage } from './new-storage.tsx';

const byName = { id: 'name' };

function columnsIn(workspace: string): readonly Column<GPUStorage>[] {
  return [
    {
      id: 'name',
      header: 'Name',
      value: ({ metadata }) => metadata.name,
      cell: ({ metadata: { name = '', namespace = '' } }) => (
        <Link to="/w/$workspace/storages/$namespace/$name" params={{ workspace, namespace, name }}>
          {name}
        </Link>
      ),
    },
    { id: 'status', header: 'Status', value: (one) => stateOf(one).word, cell: (one) => <Status {...stateOf(one)} /> },
    { id: 'size', header: 'Size', value: ({ spec }) => amountOf(spec.size), cell: ({ spec }) => sizeWords(spec.size), align: 'end' },
    {
      id: 'used',
      header: 'Used',
      value: ({ status }) => status?.usedBytes,
      cell: (one) => (one.status?.usedBytes === undefined ? '–' : <Meter share={usedShare(one)} text={bytes(one.status.usedBytes)} />),
      wideOnly: true,
    },
    { id: 'origin', header: 'Copy of', value: ({ spec }) => storageSource(spec)?.name, wideOnly: true },
    { id: 'node', header: 'Node', value: ({ status }) => status?.node, wideOnly: true },
    { id: 'units', header: 'Mounted by', value: ({ status }) => status?.mountedBy?.join(', ') || undefined, wideOnly: true },
    { id: 'reason', header: 'Reason', value: (one) => sentence(stateOf(one).reason), grow: true },
    {
      id: 'age',
      header: 'Age',
      value: ({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''),
      cell: ({ metadata }) => <Age of={metadata.creationTimestamp} />,
      align: 'end',
    },
  ];
}

export function StorageList() {
  const workspace = useWorkspace();
  const navigate = useNavigate();
  const storages = useLive(gpuStorageKind, { workspace });
  const canCreate = useCan({ workspace, namespace: 'default', verb: 'create', kind: gpuStorageKind });
  const [isCreating, setCreating] = useState(false);
  const hasCopies = storages.state === 'content' && storages.content.some(({ spec }) => storageSource(spec) !== undefined);
  const columns = useMemo(() => columnsIn(workspace).filter(({ id }) => hasCopies || id !== 'origin'), [workspace, hasCopies]);
  const create = canCreate && (
    <Button leftSection={<Icon name="plus" size={13} />} onClick={() => setCreating(true)}>
      New storage
    </Button>
  );
  return (
    <Page title="Storage" actions={storages.state === 'content' && storages.content.length > 0 && create}>
      <FollowedView of={storages} what="storages">
        {(all) =>
          all.length === 0 ? (
            <Empty icon="storage" title="No storages yet" action={create}>
              A storage keeps datasets, checkpoints and caches after a unit has ended. It is on the disk of one node, and its units go
              there.
            </Empty>
          ) : (
            <DataTable
              label="Storages"
              columns={columns}
              rows={all}
              idOf={({ metadata }) => `${metadata.namespace}/${metadata.name}`}
              sortBy={byName}
              onOpen={({ metadata: { name = '', namespace = '' } }) =>
                void navigate({ to: '/w/$workspace/storages/$namespace/$name', params: { workspace, namespace, name } })
              }
            />
          )
        }
      </FollowedView>
      {isCreating && <NewStorage workspace={workspace} onClose={() => setCreating(false)} />}
    </Page>
  );
}
