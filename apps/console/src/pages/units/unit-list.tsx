import { gpuUnitKind } from '@capstan/api';
import { Button, TextInput } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Icon } from '../../components/icon.tsx';
import { Page } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { useCan } from '../../modules/access/use-can.ts';
import { Age } from '../../modules/format/age.tsx';
import { sentence } from '../../modules/format/format.ts';
import { useLive } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { type UnitWorkload, workloadOfUnit } from '../../modules/workloads/workload.ts';
import { useWorkspace } from '../../modules/workspaces/use-workspace.ts';

const newestFirst = { id: 'age', desc: true };

function useColumns(workspace: string, hasNamespaces: boolean): readonly Column<UnitWorkload>[] {
  return useMemo(
    () => [
      {
        id: 'name',
        header: 'Name',
        value: ({ name }) => name,
        cell: ({ name, namespace }) => (
          <Link to="/w/$workspace/units/$namespace/$name" params={{ workspace, namespace, name }}>
            {name}
          </Link>
        ),
      },
      ...(hasNamespaces
        ? [{ id: 'namespace', header: 'Namespace', value: ({ namespace }: UnitWorkload) => namespace, wideOnly: true }]
        : []),
      { id: 'status', header: 'Status', value: ({ word }) => word, cell: ({ tone, word }) => <Status tone={tone} word={word} /> },
      { id: 'resources', header: 'Resources', value: ({ resources }) => resources, wideOnly: true },
      { id: 'node', header: 'Node', value: ({ place }) => place || undefined, wideOnly: true },
      {
        id: 'reason',
        header: 'Reason',
        value: ({ reason }) => sentence(reason),
        cell: ({ reason }) => <span title={reason}>{sentence(reason)}</span>,
        grow: true,
      },
      {
        id: 'age',
        header: 'Age',
        value: ({ unit }) => Date.parse(unit.metadata.creationTimestamp ?? ''),
        cell: ({ unit }) => <Age of={unit.metadata.creationTimestamp} />,
        align: 'end',
      },
    ],
    [workspace, hasNamespaces],
  );
}

export function UnitList() {
  const workspace = useWorkspace();
  const navigate = useNavigate();
  const units = useLive(gpuUnitKind, { workspace });
  const [query, setQuery] = useState('');
  const canCreate = useCan({ workspace, namespace: 'default', verb: 'create', kind: gpuUnitKind });
  const all = useMemo(() => (units.state === 'content' ? units.content.map(workloadOfUnit) : []), [units]);
  const hasNamespaces = all.some(({ namespace }) => namespace !== 'default');
  const columns = useColumns(workspace, hasNamespaces);
  const shown = useMemo(() => {
    const wanted = query.trim().toLowerCase();
    return wanted === ''
      ? all
      : all.filter((one) => `${one.name} ${one.word} ${one.resources} ${one.place} ${one.reason}`.toLowerCase().includes(wanted));
  }, [all, query]);
  const create = canCreate && (
    <Button component={Link} to={`/w/${workspace}/units/new`} leftSection={<Icon name="plus" size={13} />}>
      New unit
    </Button>
  );
  return (
    <Page
      title="GPU units"
      actions={
        all.length > 0 && (
          <>
            <TextInput
              size="xs"
              placeholder="Search"
              aria-label="Search units"
              leftSection={<Icon name="search" size={13} />}
              value={query}
              onChange={(event) => setQuery(event.currentTarget.value)}
              w={180}
            />
            {create}
          </>
        )
      }
    >
      <FollowedView of={units} what="GPU units">
        {() =>
          all.length === 0 ? (
            <Empty icon="unit" title="Nothing runs here yet" action={create}>
              {canCreate
                ? 'A unit is a program that runs on GPUs, or on a part of a node without any. Start the first one here, or with capstan run.'
                : 'Units of this workspace appear here. You may look at them; somebody with the role user can start them.'}
            </Empty>
          ) : shown.length === 0 ? (
            <Empty
              icon="search"
              title={`No unit matches “${query}”`}
              action={
                <Button variant="default" onClick={() => setQuery('')}>
                  Show all
                </Button>
              }
            />
          ) : (
            <DataTable
              label="GPU units"
              columns={columns}
              rows={shown}
              idOf={({ id }) => id}
              sortBy={newestFirst}
              onOpen={({ namespace, name }) =>
                void navigate({ to: '/w/$workspace/units/$namespace/$name', params: { workspace, namespace, name } })
              }
            />
          )
        }
      </FollowedView>
    </Page>
  );
}
