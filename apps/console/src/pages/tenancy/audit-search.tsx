import type { AuditEvent } from '@capstan/api';
import { Button, TextInput } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import form from '../../components/form.module.css';
import { Icon } from '../../components/icon.tsx';
import { ReasonBox } from '../../components/reason.tsx';
import { Empty } from '../../components/states.tsx';
import { Status } from '../../components/status.tsx';
import { type AuditFilter, missingServers, noFilter, onWhat, readAudit, toneOf, whoDid } from '../../modules/audit/audit.ts';
import { dateTime } from '../../modules/format/format.ts';
import { AskedView } from '../../modules/problems/views.tsx';

const columns: readonly Column<AuditEvent>[] = [
  { id: 'at', header: 'Time', value: ({ stageTimestamp }) => stageTimestamp, cell: ({ stageTimestamp }) => dateTime(stageTimestamp) },
  { id: 'user', header: 'User', value: whoDid, cell: (event) => <span title={whoDid(event)}>{whoDid(event)}</span>, wideOnly: true },
  { id: 'verb', header: 'Verb', value: ({ verb }) => verb },
  { id: 'object', header: 'Object', value: onWhat, narrowCell: (event) => `${whoDid(event)} · ${onWhat(event)}`, grow: true },
  {
    id: 'code',
    header: 'Result',
    value: ({ responseStatus }) => responseStatus?.code,
    cell: ({ responseStatus }) => <Status tone={toneOf(responseStatus?.code)} word={String(responseStatus?.code ?? '–')} />,
  },
];
const newestFirst = { id: 'at', desc: true };

const fields: readonly (readonly [keyof AuditFilter, string, string, string?])[] = [
  ['user', 'User', 'jane'],
  ['verb', 'Verb', 'delete'],
  ['resource', 'Resource', 'gpuunits'],
  ['name', 'Name', 'train'],
  ['code', 'Result', '403'],
  ['since', 'Since', '', 'datetime-local'],
  ['until', 'Until', '', 'datetime-local'],
];

/** Who changed what, newest first. Searched on the server. */
export function AuditSearch({ workspace }: { readonly workspace: string }) {
  const [draft, setDraft] = useState(noFilter);
  const [filter, setFilter] = useState(noFilter);
  const events = useInfiniteQuery({
    queryKey: ['audit', workspace, filter],
    queryFn: ({ pageParam }) => readAudit(workspace, filter, pageParam),
    initialPageParam: '',
    getNextPageParam: ({ metadata }) => metadata.continue || undefined,
  });
  const rows = useMemo(() => events.data?.pages.flatMap(({ items }) => items), [events.data]);
  const missing = missingServers(events.data?.pages ?? []);
  return (
    <div className={form['group']}>
      <form
        className={form['search']}
        onSubmit={(event) => {
          event.preventDefault();
          setFilter(draft);
          if (draft === filter) void events.refetch();
        }}
      >
        {fields.map(([field, label, placeholder, type = 'text']) => (
          <TextInput
            key={field}
            size="xs"
            type={type}
            label={label}
            placeholder={placeholder}
            value={draft[field]}
            onChange={(event) => setDraft({ ...draft, [field]: event.currentTarget.value })}
          />
        ))}
        <Button type="submit" leftSection={<Icon name="search" size={13} />} loading={events.isFetching}>
          Search
        </Button>
      </form>
      {missing.length > 0 && (
        <ReasonBox tone="warn">
          <p role="status">
            <strong>Events are missing.</strong> {missing.join(', ')} did not answer, so events of{' '}
            {missing.length === 1 ? 'this server' : 'these servers'} are not in the list. Search again when{' '}
            {missing.length === 1 ? 'it is' : 'they are'} back.
          </p>
        </ReasonBox>
      )}
      <AskedView of={{ data: rows, error: events.error, refetch: events.refetch }} what="the audit log">
        {(found) =>
          found.length === 0 && !events.hasNextPage ? (
            <Empty icon="search" title="No event matches">
              Writes, streams to nodes and denied requests are recorded.
            </Empty>
          ) : (
            <>
              <DataTable
                label="Audit events"
                columns={columns}
                rows={found}
                idOf={({ auditID, stage }) => `${auditID} ${stage}`}
                sortBy={newestFirst}
              />
              {events.hasNextPage && (
                <div>
                  <Button variant="default" loading={events.isFetchingNextPage} onClick={() => void events.fetchNextPage()}>
                    Load older events
                  </Button>
                </div>
              )}
            </>
          )
        }
      </AskedView>
    </div>
  );
}
