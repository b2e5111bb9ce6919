import { type Allocation, allocationKind } from '@capstan/api';
import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Icon } from '../../components/icon.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Empty, Note } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { useCan } from '../../modules/access/use-can.ts';
import { Limits } from '../../modules/allocations/limits.tsx';
import { type AllocationStanding, byTurn, ownerOf, partsOf, standingOf, stateOf } from '../../modules/allocations/state.ts';
import { Age } from '../../modules/format/age.tsx';
import { sentence } from '../../modules/format/format.ts';
import { useLive } from '../../modules/live/use-live.ts';
import { FollowedView } from '../../modules/problems/views.tsx';
import { useWorkspace } from '../../modules/workspaces/use-workspace.ts';
import { NewAllocation } from './new-allocation.tsx';
import { Offerings } from './offerings.tsx';
import { ReleaseButton, ReleaseQuestion } from './release-button.tsx';

function Owner({ workspace, allocation }: { readonly workspace: string; readonly allocation: Allocation }) {
  const owner = ownerOf(allocation);
  if (owner?.kind !== 'GPUUnit') return owner === undefined ? 'a person' : `${owner.kind} ${owner.name}`;
  return (
    <Link to="/w/$workspace/units/$namespace/$name" params={{ workspace, namespace: allocation.metadata.namespace!, name: owner.name }}>
      {owner.name}
    </Link>
  );
}

const reasonOf = (allocation: Allocation): string => sentence(stateOf(allocation).reason);

/** The column that says where an order is, or why it is not anywhere. */
const placeColumns: Readonly<Record<AllocationStanding, Pick<Column<Allocation>, 'header' | 'value'>>> = {
  waiting: { header: 'Reason', value: reasonOf },
  granted: { header: 'Nodes', value: (one) => partsOf(one) || reasonOf(one) },
  over: { header: 'Reason', value: (one) => [reasonOf(one), partsOf(one)].filter(Boolean).join(' · ') },
};

interface ColumnOptions {
  readonly workspace: string;
  readonly standing: AllocationStanding;
  readonly onRelease: (allocation: Allocation) => void;
}

function columnsIn({ workspace, standing, onRelease }: ColumnOptions): readonly Column<Allocation>[] {
  const place = placeColumns[standing];
  return [
    { id: 'name', header: 'Name', value: ({ metadata }) => metadata.name },
    { id: 'state', header: 'State', value: (one) => stateOf(one).word, cell: (one) => <Status {...stateOf(one)} /> },
    {
      id: 'owner',
      header: 'Ordered by',
      value: (one) => ownerOf(one)?.name,
      cell: (one) => <Owner workspace={workspace} allocation={one} />,
      wideOnly: true,
    },
    {
      id: 'offering',
      header: 'Offering',
      value: ({ spec }) => `${spec.nodes > 1 ? `${spec.nodes} × ` : ''}${spec.offering ?? 'own amounts'}`,
      wideOnly: true,
    },
    { id: 'priority', header: 'Priority', value: ({ spec }) => spec.priority, align: 'end', wideOnly: true },
    {
      ...place,
      id: 'place',
      cell: (one) => <span title={stateOf(one).reason}>{place.value(one)}</span>,
      grow: true,
    },
    {
      id: 'age',
      header: 'Age',
      value: ({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''),
      cell: ({ metadata }) => <Age of={metadata.creationTimestamp} />,
      align: 'end',
      wideOnly: true,
    },
    {
      id: 'actions',
      header: '',
      value: () => undefined,
      cell: (one) => <ReleaseButton workspace={workspace} allocation={one} onAsk={onRelease} />,
      align: 'end',
    },
  ];
}

const idOf = ({ metadata }: Allocation): string => metadata.uid!;

export function AllocationList() {
  const workspace = useWorkspace();
  const allocations = useLive(allocationKind, { workspace });
  const canCreate = useCan({ workspace, namespace: 'default', verb: 'create', kind: allocationKind });
  const [isOrdering, setOrdering] = useState(false);
  const [released, setReleased] = useState<Allocation>();
  const columns = useMemo(
    () => ({
      waiting: columnsIn({ workspace, standing: 'waiting', onRelease: setReleased }),
      granted: columnsIn({ workspace, standing: 'granted', onRelease: setReleased }),
      over: columnsIn({ workspace, standing: 'over', onRelease: setReleased }),
    }),
    [workspace],
  );
  const all = useMemo(() => (allocations.state === 'content' ? [...allocations.content].sort(byTurn) : []), [allocations]);
  const { waiting = [], granted = [], over = [] } = Object.groupBy(all, standingOf);
  const order = canCreate && (
    <Button variant="default" leftSection={<Icon name="plus" size={13} />} onClick={() => setOrdering(true)}>
      Order GPUs
    </Button>
  );
  return (
    <Page title="Allocations" actions={order}>
      <FollowedView of={allocations} what="allocations">
        {() =>
          all.length === 0 ? (
            <Empty icon="allocation" title="Nothing is ordered" action={order}>
              Every unit orders its nodes and GPUs by itself while it runs. An order of your own keeps them until you release it.
            </Empty>
          ) : (
            <>
              <Limits workspace={workspace} />
              <Section
                title="Queue"
                count={waiting.length}
                note="Served by priority, then the tenant with the smallest share of the fleet, then by age."
              >
                {waiting.length === 0 ? (
                  <Note>Nothing waits.</Note>
                ) : (
                  <DataTable label="Orders that wait" columns={columns.waiting} rows={waiting} idOf={idOf} />
                )}
              </Section>
              <Section title="Granted" count={granted.length}>
                {granted.length === 0 ? (
                  <Note>No order has devices.</Note>
                ) : (
                  <DataTable label="Orders with devices" columns={columns.granted} rows={granted} idOf={idOf} />
                )}
              </Section>
              {over.length > 0 && (
                <Section
                  title="Ended"
                  count={over.length}
                  note="They give their devices back, or will never get any. Release those that failed, and order again."
                >
                  <DataTable label="Orders that have ended" columns={columns.over} rows={over} idOf={idOf} />
                </Section>
              )}
            </>
          )
        }
      </FollowedView>
      <Offerings workspace={workspace} />
      {released !== undefined && <ReleaseQuestion workspace={workspace} allocation={released} onClose={() => setReleased(undefined)} />}
      {isOrdering && <NewAllocation workspace={workspace} onClose={() => setOrdering(false)} />}
    </Page>
  );
}
