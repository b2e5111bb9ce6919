import { useMemo } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Note } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { Age } from '../format/age.tsx';
import { eventKind } from '../kube/core-kinds.ts';
import { useLive } from '../live/use-live.ts';
import { FollowedView } from '../problems/views.tsx';
import { type EventRow, rowsOf } from './events.ts';

const columns: readonly Column<EventRow>[] = [
  {
    id: 'reason',
    header: 'Event',
    value: ({ reason }) => reason,
    cell: ({ reason, isWarning }) => <Status tone={isWarning ? 'warn' : 'good'} word={reason} />,
  },
  {
    id: 'message',
    header: 'Message',
    value: ({ message }) => message,
    cell: ({ message }) => <span title={message}>{message}</span>,
    grow: true,
  },
  { id: 'count', header: 'Count', value: ({ count }) => count, align: 'end', wideOnly: true },
  { id: 'at', header: 'Last seen', value: ({ at }) => at, cell: ({ at }) => <Age of={at} />, align: 'end' },
];
const newestFirst = { id: 'at', desc: true };

interface EventListProps {
  readonly workspace: string;
  readonly namespace?: string;
  readonly kind: string;
  readonly name: string;
}

/** The events of one object, live. */
export function EventList({ workspace, namespace, kind, name }: EventListProps) {
  const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
  const events = useLive(eventKind, { workspace, ...(namespace !== undefined && { namespace }), fieldSelector });
  const rows = useMemo(() => (events.state === 'content' ? rowsOf(events.content) : []), [events]);
  return (
    <FollowedView of={events} what="events">
      {() =>
        rows.length === 0 ? (
          <Note>No events. They are kept for an hour; the conditions say how things are now.</Note>
        ) : (
          <DataTable label="Events" columns={columns} rows={rows} idOf={({ id }) => id} sortBy={newestFirst} />
        )
      }
    </FollowedView>
  );
}
