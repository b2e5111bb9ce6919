import type { DiscoveredResource } from '@capstan/client/browser';
import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Icon } from '../../components/icon.tsx';
import { Page } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { useWriteAccess } from '../../modules/access/use-can.ts';
import { groupInPath, kindsQuery, listable } from '../../modules/explorer/kinds.ts';
import { AskedView } from '../../modules/problems/views.tsx';
import { useWorkspace } from '../../modules/workspaces/use-workspace.ts';

const writing: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);

const columnsIn = (workspace: string): readonly Column<DiscoveredResource>[] => [
  {
    id: 'kind',
    header: 'Kind',
    value: ({ kind }) => kind,
    cell: ({ kind, group, version, resource }) => (
      <Link to="/w/$workspace/api/$group/$version/$resource" params={{ workspace, group: groupInPath(group), version, resource }}>
        {kind}
      </Link>
    ),
  },
  { id: 'group', header: 'Group', value: ({ group, version }) => (group === '' ? version : `${group}/${version}`), grow: true },
  { id: 'resource', header: 'Name in paths', value: ({ resource }) => resource, wideOnly: true },
  { id: 'short', header: 'Short names', value: ({ shortNames }) => shortNames.join(', ') || undefined, wideOnly: true },
  { id: 'scope', header: 'Scope', value: ({ namespaced }) => (namespaced ? 'namespaced' : 'workspace'), wideOnly: true },
  {
    id: 'access',
    header: 'Access',
    value: ({ verbs }) => (verbs.some((verb) => writing.has(verb)) ? 'read, write' : 'read'),
    wideOnly: true,
  },
];

/** Every kind that the workspace serves. */
export function KindList() {
  const workspace = useWorkspace();
  const navigate = useNavigate();
  const kinds = useQuery(kindsQuery(workspace));
  const canWrite = useWriteAccess(workspace) === 'allowed';
  const [query, setQuery] = useState('');
  const columns = useMemo(() => columnsIn(workspace), [workspace]);
  const all = useMemo(() => (kinds.data === undefined ? undefined : listable(kinds.data)), [kinds.data]);
  const wanted = query.trim().toLowerCase();
  const shown = (all ?? []).filter(({ kind, group, resource, shortNames }) =>
    `${kind} ${resource} ${group} ${shortNames.join(' ')}`.toLowerCase().includes(wanted),
  );
  return (
    <Page
      title="API"
      actions={
        <>
          <TextInput
            size="xs"
            w={180}
            placeholder="Search kinds"
            aria-label="Search kinds"
            leftSection={<Icon name="search" size={13} />}
            value={query}
            onChange={(event) => setQuery(event.currentTarget.value)}
          />
          {canWrite && (
            <Button component={Link} to={`/w/${workspace}/api/new`} leftSection={<Icon name="plus" size={13} />}>
              Create from YAML
            </Button>
          )}
        </>
      }
    >
      <AskedView of={{ data: all, error: kinds.error, refetch: kinds.refetch }} what="kinds">
        {() =>
          shown.length === 0 ? (
            <Empty icon="api" title={`No kind matches “${query}”`}>
              Bind an API of another workspace to add its kinds: capstan bind.
            </Empty>
          ) : (
            <DataTable
              label="Kinds"
              columns={columns}
              rows={shown}
              idOf={({ group, resource }) => `${resource}.${group}`}
              onOpen={({ group, version, resource }) =>
                void navigate({
                  to: '/w/$workspace/api/$group/$version/$resource',
                  params: { workspace, group: groupInPath(group), version, resource },
                })
              }
            />
          )
        }
      </AskedView>
    </Page>
  );
}
