import { type GPUStorage, gpuStorageKind, isCloneable } from '@capstan/api';
import { Button } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/page.tsx';
import { Note } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { useCan } from '../../modules/access/use-can.ts';
import { bytes, dateTime, sentence } from '../../modules/format/format.ts';
import { useLive } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { CopyDialog } from '../../modules/storages/copy-dialog.tsx';
import { stateOf } from '../../modules/storages/state.ts';

const newestFirst = { id: 'taken', desc: true };

interface SnapshotListProps {
  readonly workspace: string;
  readonly storage: GPUStorage;
}

/** The snapshots of a storage, each with a button that makes a storage of it. */
export function SnapshotList({ workspace, storage }: SnapshotListProps) {
  const { name: source = '', namespace = '' } = storage.metadata;
  const navigate = useNavigate();
  const storages = useLive(gpuStorageKind, { workspace, namespace });
  const canCreate = useCan({ workspace, namespace, verb: 'create', kind: gpuStorageKind });
  const [cloned, setCloned] = useState<GPUStorage>();
  const columns = useMemo(() => columnsFor({ workspace, onClone: canCreate ? setCloned : undefined }), [workspace, canCreate]);
  const ofThis = storages.state === 'content' ? storages.content.filter(({ spec }) => spec.snapshotOf?.name === source) : undefined;
  return (
    <Section title="Snapshots" count={ofThis?.length}>
      <FollowedView of={storages} what="snapshots">
        {() =>
          ofThis!.length === 0 ? (
            <Note>None yet. A snapshot keeps the files as they are at one moment; units may go on writing.</Note>
          ) : (
            <DataTable
              label="Snapshots"
              columns={columns}
              rows={ofThis!}
              idOf={({ metadata }) => metadata.name!}
              sortBy={newestFirst}
              onOpen={({ metadata: { name = '' } }) =>
                void navigate({ to: '/w/$workspace/storages/$namespace/$name', params: { workspace, namespace, name } })
              }
            />
          )
        }
      </FollowedView>
      {cloned !== undefined && <CopyDialog workspace={workspace} storage={cloned} copy="clone" onClose={() => setCloned(undefined)} />}
    </Section>
  );
}

interface ColumnOptions {
  readonly workspace: string;
  readonly onClone: ((snapshot: GPUStorage) => void) | undefined;
}

function columnsFor({ workspace, onClone }: ColumnOptions): readonly Column<GPUStorage>[] {
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
    {
      id: 'taken',
      header: 'Taken',
      value: ({ metadata, status }) => Date.parse(status?.takenAt ?? metadata.creationTimestamp ?? ''),
      cell: ({ status }) => (status?.takenAt === undefined ? '–' : dateTime(status.takenAt)),
      wideOnly: true,
    },
    {
      id: 'used',
      header: 'Used',
      value: ({ status }) => status?.usedBytes,
      cell: ({ status }) => (status?.usedBytes === undefined ? '–' : bytes(status.usedBytes)),
      align: 'end',
      wideOnly: true,
    },
    { id: 'reason', header: 'Reason', value: (one) => sentence(stateOf(one).reason), grow: true, wideOnly: true },
    ...(onClone === undefined
      ? []
      : [
          {
            id: 'actions',
            header: '',
            value: () => undefined,
            cell: (one: GPUStorage) =>
              isCloneable(one) && (
                <Button variant="default" size="compact-xs" aria-label={`Clone ${one.metadata.name}`} onClick={() => onClone(one)}>
                  Clone
                </Button>
              ),
            align: 'end' as const,
          },
        ]),
  ];
}
