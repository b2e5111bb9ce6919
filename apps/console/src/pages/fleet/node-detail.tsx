import { type NodeDriver, type NodeUnitDriver, platformWorkspace } from '@capstan/api';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Facts, Page, Section } from '../../components/page.tsx';
import { Empty, Note } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { Conditions } from '../../modules/conditions/conditions.tsx';
import { EventList } from '../../modules/events/event-list.tsx';
import type { NodeCells } from '../../modules/fleet/cells.ts';
import { NodeActions } from '../../modules/fleet/node-actions.tsx';
import { stateOf } from '../../modules/fleet/node-state.ts';
import { useFleet } from '../../modules/fleet/use-fleet.ts';
import { bytes, count, sentence } from '../../modules/format/format.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { NodeGpus } from './node-gpus.tsx';
import { NodePlots } from './node-plots.tsx';
import { NodeTasks } from './node-tasks.tsx';

export function NodeDetail() {
  const { workspace = '', name = '' } = useParams({ strict: false });
  const fleet = useFleet();
  const navigate = useNavigate();
  const found = fleet.state === 'content' ? fleet.content.find(({ node }) => node.metadata.name === name) : undefined;
  const leave = (): void => void navigate({ to: '/w/$workspace/fleet', params: { workspace } });
  return (
    <Page
      title={name}
      above={
        <Link to="/w/$workspace/fleet" params={{ workspace }}>
          Fleet
        </Link>
      }
      beside={found !== undefined && <Status {...stateOf(found.node)} />}
      actions={found !== undefined && <NodeActions node={found.node} booked={found.entries.length} onRemoved={leave} />}
    >
      <FollowedView of={fleet} what="nodes">
        {() =>
          found === undefined ? (
            <Empty icon="fleet" title={`There is no node ${name}`}>
              It was removed, or never enrolled.
            </Empty>
          ) : (
            <NodeFacts cells={found} />
          )
        }
      </FollowedView>
    </Page>
  );
}

const sources: Readonly<Record<string, string>> = { nvidia: 'NVIDIA', amd: 'AMD', declared: 'declared in a file' };

/** `NVIDIA 580.65.06, CUDA 13.0`. */
function driverWords({ source, version, runtime }: NodeDriver): string {
  const driver = [sources[source], version].filter(Boolean).join(' ');
  return [driver, runtime].filter(Boolean).join(', ');
}

/** `images (isolated)`. */
function unitDriverWords({ name, isolation, message = 'not available' }: NodeUnitDriver): string {
  const isolated = isolation === 'full' ? 'isolated' : 'not isolated';
  return `${name === 'exec' ? 'commands' : 'images'} (${isolation === undefined ? message : isolated})`;
}

function NodeFacts({ cells }: { readonly cells: NodeCells }) {
  const { node, entries } = cells;
  const { machine, drivers = [], unitDrivers = [], addresses = [], conditions = [] } = node.status ?? {};
  const { reason } = stateOf(node);
  return (
    <>
      <Facts
        facts={[
          ['Reason', sentence(reason)],
          ['Machine', machine === undefined ? '–' : `${count(machine.cpus, 'CPU')}, ${bytes(machine.memoryBytes)}`],
          ['System', machine === undefined ? undefined : `${machine.os}, ${machine.kernel}`],
          ['Agent', machine?.agentVersion],
          ['Driver', drivers.map(driverWords).join('; ')],
          ['Runs', sentence(unitDrivers.map(unitDriverWords).join(', '))],
          ['Addresses', addresses.map(({ address }) => address).join(', ')],
          ['Pool', node.spec?.pool],
          ['Note', node.spec?.comment],
        ]}
      />
      <Section title="GPUs" count={cells.cells.length}>
        <NodeGpus cells={cells} />
      </Section>
      <NodePlots node={node} />
      <Section title="Booked by" count={entries.length}>
        {entries.length === 0 ? <Note>Nothing is booked on this node.</Note> : <Bookings cells={cells} />}
      </Section>
      <Section title="Conditions">
        <Conditions conditions={conditions} />
      </Section>
      <Section title="Tasks">
        <NodeTasks node={node.metadata.name!} />
      </Section>
      <Section title="Events">
        <EventList workspace={platformWorkspace} objects={[{ kind: 'GPUNode', name: node.metadata.name! }]} />
      </Section>
    </>
  );
}

type Entry = NodeCells['entries'][number];

const bookingColumns: readonly Column<Entry>[] = [
  { id: 'workspace', header: 'Workspace', value: ({ allocation }) => allocation.path ?? allocation.cluster },
  { id: 'allocation', header: 'Allocation', value: ({ allocation }) => `${allocation.namespace}/${allocation.name}` },
  {
    id: 'state',
    header: 'State',
    value: ({ state }) => state,
    cell: ({ state }) => <Status tone={state === 'Granted' ? 'good' : 'busy'} word={state} />,
  },
  { id: 'gpus', header: 'GPUs', value: ({ devices }) => devices.length, align: 'end' },
  { id: 'cpu', header: 'Cores', value: ({ cpu }) => cpu / 1000, align: 'end', wideOnly: true },
  { id: 'memory', header: 'Memory', value: ({ memory }) => memory, cell: ({ memory }) => bytes(memory), align: 'end', wideOnly: true },
];

function Bookings({ cells }: { readonly cells: NodeCells }) {
  return (
    <DataTable
      label="Bookings"
      columns={bookingColumns}
      rows={cells.entries}
      idOf={({ allocation, attempt }) => `${allocation.uid} ${attempt}`}
    />
  );
}
