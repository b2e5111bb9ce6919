import { appInstanceKind } from '@capstan/api';
import { Button } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
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
import { type AppWorkload, workloadOfInstance } from '../../modules/workloads/workload.ts';
import { useWorkspace } from '../../modules/workspaces/use-workspace.ts';

const newestFirst = { id: 'age', desc: true };

function columnsIn(workspace: string): readonly Column<AppWorkload>[] {
  return [
    {
      id: 'name',
      header: 'Name',
      value: ({ name }) => name,
      cell: ({ name, namespace }) => (
        <Link to="/w/$workspace/apps/$namespace/$name" params={{ workspace, namespace, name }}>
          {name}
        </Link>
      ),
    },
    { id: 'app', header: 'App', value: ({ resources }) => resources, wideOnly: true },
    { id: 'status', header: 'Status', value: ({ word }) => word, cell: ({ tone, word }) => <Status tone={tone} word={word} /> },
    { id: 'members', header: 'Members', value: ({ place }) => place || undefined, wideOnly: true },
    { id: 'phase', header: 'Phase', value: ({ instance }) => instance.status?.phase, wideOnly: true },
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
      value: ({ instance }) => Date.parse(instance.metadata.creationTimestamp ?? ''),
      cell: ({ instance }) => <Age of={instance.metadata.creationTimestamp} />,
      align: 'end',
    },
  ];
}

export function AppList() {
  const workspace = useWorkspace();
  const navigate = useNavigate();
  const instances = useLive(appInstanceKind, { workspace });
  const canCreate = useCan({ workspace, namespace: 'default', verb: 'create', kind: appInstanceKind });
  const rows = useMemo(() => (instances.state === 'content' ? instances.content.map(workloadOfInstance) : []), [instances]);
  const columns = useMemo(() => columnsIn(workspace), [workspace]);
  const create = canCreate && (
    <Button component={Link} to={`/w/${workspace}/catalog`} leftSection={<Icon name="plus" size={13} />}>
      Deploy an app
    </Button>
  );
  return (
    <Page title="Apps" actions={rows.length > 0 && create}>
      <FollowedView of={instances} what="apps">
        {() =>
          rows.length === 0 ? (
            <Empty icon="app" title="No app is deployed here" action={create}>
              {canCreate
                ? 'An app is a distributed system, such as a Slurm or a Kubernetes cluster, that the platform deploys on your allocations.'
                : 'Apps of this workspace appear here. Somebody with the role user can deploy them.'}
            </Empty>
          ) : (
            <DataTable
              label="Apps"
              columns={columns}
              rows={rows}
              idOf={({ id }) => id}
              sortBy={newestFirst}
              onOpen={({ namespace, name }) =>
                void navigate({ to: '/w/$workspace/apps/$namespace/$name', params: { workspace, namespace, name } })
              }
            />
          )
        }
      </FollowedView>
    </Page>
  );
}
