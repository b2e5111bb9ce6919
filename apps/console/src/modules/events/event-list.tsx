import { useMemo } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Note } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { Age } from '../format/age.tsx';
import { eventKind } from '../kube/core-kinds.ts';
import { useLiveMatching } from '../live/use-live.ts';
import { FollowedView } from '../problems/views.tsx';
import { type EventObject, type EventRow, rowsOf, selectorsOf } from './events.ts';

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
const columnsWithObject: readonly Column<EventRow>[] = [
  columns[0]!,
  { id: 'about', header: 'About', value: ({ about }) => about, wideOnly: true },
  ...columns.slice(1),
];
const newestFirst = { id: 'at', desc: true };

interface EventListProps {
  readonly workspace: string;
  readonly namespace?: string;
  /** The object of the page first, then those that belong to it. */
  readonly objects: readonly EventObject[];
}

/** The events of an object and of everything that belongs to it, live. */
export function EventList({ workspace, namespace, objects }: EventListProps) {
  const events = useLiveMatching(eventKind, {
    workspace,
    ...(namespace !== undefined && { namespace }),
    fieldSelectors: selectorsOf(objects),
  });
  const rows = useMemo(() => (events.state === 'content' ? rowsOf(events.content) : []), [events]);
  return (
    <FollowedView of={events} what="events">
      {() =>
        rows.length === 0 ? (
          <Note>No events. They are kept for an hour; the conditions say how things are now.</Note>
        ) : (
          <DataTable
            label="Events"
            columns={objects.length === 1 ? columns : columnsWithObject}
            rows={rows}
            idOf={({ id }) => id}
            sortBy={newestFirst}
          />
        )
      }
    </FollowedView>
  );
}
