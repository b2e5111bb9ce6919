import { type Workspace, workspaceKind } from '@capstan/api';
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { Confirm } from '../../components/confirm.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Icon } from '../../components/icon.tsx';
import { Section } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { useCanEach } from '../../modules/access/use-can.ts';
import { Age } from '../../modules/format/age.tsx';
import { kubeClient } from '../../modules/kube/client.ts';
import { useLive } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { shortName } from '../../modules/session/person.ts';
import { useAction } from '../../modules/toasts/use-action.ts';
import { createdBy, stateOf } from '../../modules/workspaces/state.ts';
import { NewWorkspace } from './new-workspace.tsx';

function columnsIn(workspace: string, remove: ((name: string) => void) | undefined): readonly Column<Workspace>[] {
  return [
    {
      id: 'name',
      header: 'Name',
      value: ({ metadata }) => metadata.name,
      cell: ({ metadata }) => (
        <Link to="/w/$workspace" params={{ workspace: `${workspace}:${metadata.name}` }}>
          {metadata.name}
        </Link>
      ),
    },
    { id: 'state', header: 'State', value: (one) => stateOf(one).word, cell: (one) => <Status {...stateOf(one)} /> },
    { id: 'type', header: 'Type', value: ({ spec }) => spec?.type?.name, wideOnly: true },
    {
      id: 'creator',
      header: 'Created by',
      value: createdBy,
      cell: (one) => <span title={createdBy(one)}>{shortName(createdBy(one) ?? '–')}</span>,
      wideOnly: true,
    },
    { id: 'reason', header: 'Reason', value: (one) => stateOf(one).reason, grow: true },
    {
      id: 'age',
      header: 'Age',
      value: ({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''),
      cell: ({ metadata }) => <Age of={metadata.creationTimestamp} />,
      align: 'end',
    },
    ...(remove === undefined
      ? []
      : [
          {
            id: 'actions',
            header: '',
            value: () => undefined,
            cell: ({ metadata }: Workspace) =>
              metadata.deletionTimestamp === undefined && (
                <Button variant="default" size="compact-xs" onClick={() => remove(metadata.name!)}>
                  Delete
                </Button>
              ),
            align: 'end' as const,
          },
        ]),
  ];
}

export function Workspaces({ workspace, mayList }: { readonly workspace: string; readonly mayList: boolean }) {
  const children = useLive(mayList ? workspaceKind : undefined, { workspace });
  const [canCreate, canDelete] = useCanEach(['create', 'delete'].map((verb) => ({ workspace, verb, kind: workspaceKind })));
  const [isCreating, setCreating] = useState(false);
  const [leaving, setLeaving] = useState<string>();
  const remove = useAction((name: string) => kubeClient(workspace).resource<Workspace>(workspaceKind).delete(name), {
    done: (name) => `${name} is being deleted`,
  });
  const columns = useMemo(() => columnsIn(workspace, canDelete ? setLeaving : undefined), [workspace, canDelete]);
  const create = canCreate && (
    <Button leftSection={<Icon name="plus" size={13} />} onClick={() => setCreating(true)}>
      New workspace
    </Button>
  );
  if (!mayList)
    return (
      <Empty icon="tenancy" title="You may not list the workspaces below this one">
        You can enter a workspace by its path, with the switcher above the navigation.
      </Empty>
    );
  return (
    <Section title={`Below ${workspace}`} actions={create}>
      <FollowedView of={children} what="workspaces">
        {(rows) =>
          rows.length === 0 ? (
            <Empty icon="tenancy" title="There are no workspaces below this one">
              A workspace has its own namespaces, kinds, roles and limits. Projects are where units run.
            </Empty>
          ) : (
            <DataTable label="Workspaces" columns={columns} rows={rows} idOf={({ metadata }) => metadata.name!} />
          )
        }
      </FollowedView>
      {isCreating && <NewWorkspace workspace={workspace} onClose={() => setCreating(false)} />}
      {leaving !== undefined && (
        <Confirm
          title={`Delete ${leaving}?`}
          action="Delete"
          typed={leaving}
          onConfirm={() => remove.mutate(leaving)}
          onClose={() => setLeaving(undefined)}
        >
          Everything in it and below it is deleted: units, storages with their files, secrets and child workspaces.
        </Confirm>
      )}
    </Section>
  );
}
