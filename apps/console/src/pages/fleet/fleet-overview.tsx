import { nodeEnrollmentKind, platformWorkspace } from '@capstan/api';
import { Button } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Icon } from '../../components/icon.tsx';
import { Facts, Page, Section } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { useCan } from '../../modules/access/use-can.ts';
import { type NodeCells, totalsOf } from '../../modules/fleet/cells.ts';
import { GpuCells, GpuLegend } from '../../modules/fleet/gpu-cells.tsx';
import { needsHelp, stateOf } from '../../modules/fleet/node-state.ts';
import { useFleet } from '../../modules/fleet/use-fleet.ts';
import { count, percent, sentence } from '../../modules/format/format.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { useWorkspace } from '../../modules/workspaces/use-workspace.ts';
import { EnrollDialog } from './enroll-dialog.tsx';

const byName = { id: 'name' };

function meanOf({ cells }: NodeCells): number | undefined {
  return totalsOf([{ cells } as NodeCells]).utilization;
}

function columnsIn(workspace: string): readonly Column<NodeCells>[] {
  return [
    {
      id: 'name',
      header: 'Node',
      value: ({ node }) => node.metadata.name,
      cell: ({ node }) => (
        <Link to="/w/$workspace/fleet/$name" params={{ workspace, name: node.metadata.name! }}>
          {node.metadata.name}
        </Link>
      ),
    },
    { id: 'state', header: 'State', value: ({ node }) => stateOf(node).word, cell: ({ node }) => <Status {...stateOf(node)} /> },
    {
      id: 'gpus',
      header: 'GPUs',
      value: ({ cells }) => cells.length,
      cell: ({ cells }) => (cells.length === 0 ? '–' : <GpuCells cells={cells} />),
    },
    { id: 'model', header: 'Model', value: ({ node }) => node.status?.gpuSummary, wideOnly: true },
    {
      id: 'booked',
      header: 'Booked',
      value: ({ booked }) => booked,
      cell: ({ booked, cells }) => `${booked} of ${cells.length}`,
      align: 'end',
      wideOnly: true,
    },
    {
      id: 'use',
      header: 'Utilisation',
      value: meanOf,
      cell: (row) => {
        const mean = meanOf(row);
        return mean === undefined ? '–' : percent(mean * 100);
      },
      align: 'end',
      wideOnly: true,
    },
    { id: 'pool', header: 'Pool', value: ({ node }) => node.spec?.pool, wideOnly: true },
    { id: 'agent', header: 'Agent', value: ({ node }) => node.status?.machine?.agentVersion, wideOnly: true },
    {
      id: 'reason',
      header: 'Reason',
      value: ({ node }) => stateOf(node).reason,
      cell: ({ node }) => <span title={stateOf(node).reason}>{sentence(stateOf(node).reason)}</span>,
      grow: true,
    },
  ];
}

export function FleetOverview() {
  const workspace = useWorkspace();
  const navigate = useNavigate();
  const fleet = useFleet();
  const [isEnrolling, setEnrolling] = useState(false);
  const canEnroll = useCan({ workspace: platformWorkspace, verb: 'create', kind: nodeEnrollmentKind });
  const columns = useMemo(() => columnsIn(workspace), [workspace]);
  const add = canEnroll && (
    <Button leftSection={<Icon name="plus" size={13} />} onClick={() => setEnrolling(true)}>
      Add a machine
    </Button>
  );
  return (
    <Page title="Fleet" actions={add}>
      <FollowedView of={fleet} what="nodes">
        {(nodes) =>
          nodes.length === 0 ? (
            <Empty icon="fleet" title="The fleet has no machines" action={add}>
              A machine joins with one command, also from behind NAT or a firewall.
            </Empty>
          ) : (
            <>
              <Totals nodes={nodes} />
              <Section title="Nodes" count={nodes.length}>
                <DataTable
                  label="Nodes"
                  columns={columns}
                  rows={nodes}
                  idOf={({ node }) => node.metadata.name!}
                  sortBy={byName}
                  onOpen={({ node }) =>
                    void navigate({ to: '/w/$workspace/fleet/$name', params: { workspace, name: node.metadata.name! } })
                  }
                />
              </Section>
              <GpuLegend />
            </>
          )
        }
      </FollowedView>
      {isEnrolling && <EnrollDialog onClose={() => setEnrolling(false)} />}
    </Page>
  );
}

function Totals({ nodes }: { readonly nodes: readonly NodeCells[] }) {
  const { gpus, booked, free, broken, utilization } = totalsOf(nodes);
  const troubled = nodes.filter(({ node }) => needsHelp(node)).length;
  return (
    <Facts
      facts={[
        ['GPUs', gpus.toLocaleString('en')],
        ['Booked', `${booked.toLocaleString('en')}${gpus === 0 ? '' : ` · ${percent((100 * booked) / gpus)}`}`],
        ['Free', free.toLocaleString('en')],
        ['Out of service', broken.toLocaleString('en')],
        ['Mean utilisation', utilization === undefined ? 'not reported' : percent(utilization * 100)],
        ['Nodes that need help', troubled === 0 ? 'none' : count(troubled, 'node')],
      ]}
    />
  );
}
