import type { DiscoveredResource } from '@capstan/client/browser';
import { TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Icon } from '../../components/icon.tsx';
import { Page } from '../../components/page.tsx';
import { Empty } from '../../components/states.tsx';
import { useCan } from '../../modules/access/use-can.ts';
import { groupFromPath, kindsQuery, servedKind } from '../../modules/explorer/kinds.ts';
import { Refresher } from '../../modules/explorer/refresher.ts';
import { cellValue, isAge, type KubeTable, mostRows, readTable } from '../../modules/explorer/table.ts';
import { Age } from '../../modules/format/age.tsx';
import { useLive } from '../../modules/live/use-live.ts';
import { AskedView } from '../../modules/problems/views.tsx';

type Row = KubeTable['rows'][number];

/** In place of the namespace, in addresses of objects without one. */
const noNamespace = '-';

/** In milliseconds. Changes come one by one; the table, which the server prints, is asked for once for all of them, and a long one less often. */
const pauseFor = (rows: number): number => 400 + Math.min(rows / 4, 2_500);

function useTableRows(workspace: string, type: DiscoveredResource | undefined) {
  const queries = useQueryClient();
  const queryKey = useMemo(() => ['table', workspace, type?.group, type?.version, type?.resource], [workspace, type]);
  const table = useQuery({ queryKey, queryFn: () => readTable(workspace, type!), enabled: type !== undefined });
  const list = useLive(type?.verbs.includes('watch') ? type : undefined, { workspace });
  const refresher = useRef<Refresher>(undefined);
  useEffect(() => {
    const made = new Refresher(() => queries.invalidateQueries({ queryKey }));
    refresher.current = made;
    return () => made[Symbol.dispose]();
  }, [queries, queryKey]);
  useEffect(() => {
    if (list.state === 'content') refresher.current?.changed(pauseFor(list.content.length));
  }, [list]);
  return table;
}

interface KindAddress {
  readonly workspace: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

const addressOf = ({ workspace, group, version, resource }: KindAddress, { object }: Row) => ({
  workspace,
  group,
  version,
  resource,
  namespace: object.metadata.namespace ?? noNamespace,
  name: object.metadata.name!,
});

function columnsOf(
  table: KubeTable | undefined,
  { isNamespaced, ...kind }: KindAddress & { readonly isNamespaced: boolean },
): readonly Column<Row>[] {
  const columns = (table?.columnDefinitions ?? []).map(
    (column, index): Column<Row> => ({
      id: `${index} ${column.name}`,
      header: column.name,
      value: ({ cells }) => cellValue(cells[index]),
      ...(isAge(column) && {
        value: ({ object }: Row) => Date.parse(object.metadata.creationTimestamp ?? ''),
        cell: ({ object }: Row) => <Age of={object.metadata.creationTimestamp} />,
      }),
      ...((column.priority ?? 0) > 0 && { wideOnly: true }),
      ...(/message|reason|description/i.test(column.name) && { grow: true }),
    }),
  );
  const [first, ...others] = columns;
  if (first === undefined) return [];
  const name: Column<Row> = {
    ...first,
    cell: (row) => (
      <Link to="/w/$workspace/api/$group/$version/$resource/$namespace/$name" params={addressOf(kind, row)}>
        {String(row.cells[0])}
      </Link>
    ),
  };
  const namespace: Column<Row> = { id: 'namespace', header: 'Namespace', value: ({ object }) => object.metadata.namespace, wideOnly: true };
  return [name, ...(isNamespaced ? [namespace] : []), ...others];
}

interface NextStepProps {
  readonly workspace: string;
  readonly isSearch: boolean;
  readonly mayCreate: boolean;
}

/** The first thing to do where no object is shown. */
function NextStep({ workspace, isSearch, mayCreate }: NextStepProps) {
  if (isSearch) return 'Search for a part of a name, of a namespace or of another cell.';
  if (!mayCreate) return 'They appear here as soon as somebody creates one.';
  return (
    <>
      <Link to="/w/$workspace/api/new" params={{ workspace }}>
        Create one from YAML
      </Link>
      , or with kubectl apply.
    </>
  );
}

/** The objects of one kind, as kubectl prints them. */
export function ObjectList() {
  const { workspace = '', group = '', version = '', resource = '' } = useParams({ strict: false });
  const navigate = useNavigate();
  const kinds = useQuery(kindsQuery(workspace));
  const type = servedKind(kinds.data, { group: groupFromPath(group), version, resource });
  const table = useTableRows(workspace, type);
  const [query, setQuery] = useState('');
  const isNamespaced = type?.namespaced === true;
  const canCreate = useCan({
    workspace,
    ...(isNamespaced && { namespace: 'default' }),
    verb: 'create',
    kind: { group: groupFromPath(group), resource },
  });
  const mayCreate = canCreate && type?.verbs.includes('create') === true;
  const columns = useMemo(
    () => columnsOf(table.data, { workspace, group, version, resource, isNamespaced }),
    [table.data, workspace, group, version, resource, isNamespaced],
  );
  const wanted = query.trim().toLowerCase();
  const error = kinds.error ?? table.error;
  return (
    <Page
      title={type?.kind ?? resource}
      above={
        <Link to="/w/$workspace/api" params={{ workspace }}>
          API
        </Link>
      }
      beside={<span>{group === 'core' ? version : `${group}/${version}`}</span>}
      actions={
        <TextInput
          size="xs"
          w={180}
          placeholder="Search"
          aria-label="Search objects"
          leftSection={<Icon name="search" size={13} />}
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
        />
      }
    >
      {kinds.data !== undefined && type === undefined ? (
        <Empty icon="api" title={`${workspace} has no ${resource} in ${group}/${version}`}>
          <Link to="/w/$workspace/api" params={{ workspace }}>
            See the kinds that it has
          </Link>
          {', switch to another workspace, or add the kind with capstan bind.'}
        </Empty>
      ) : (
        <AskedView of={{ data: table.data, error, refetch: table.refetch }} what={resource}>
          {({ rows }) => {
            const shown = rows.filter(({ object, cells }) =>
              `${object.metadata.namespace ?? ''} ${cells.join(' ')}`.toLowerCase().includes(wanted),
            );
            return shown.length === 0 ? (
              <Empty icon="api" title={wanted === '' ? `There are no ${resource} here` : `Nothing matches “${query}”`}>
                <NextStep workspace={workspace} isSearch={wanted !== ''} mayCreate={mayCreate} />
              </Empty>
            ) : (
              <>
                <DataTable
                  label={resource}
                  columns={columns}
                  rows={shown}
                  idOf={({ object }) => `${object.metadata.namespace}/${object.metadata.name}`}
                  onOpen={(row) =>
                    void navigate({
                      to: '/w/$workspace/api/$group/$version/$resource/$namespace/$name',
                      params: addressOf({ workspace, group, version, resource }, row),
                    })
                  }
                />
                {rows.length >= mostRows && <p>Only the first {mostRows.toLocaleString('en')} are shown. kubectl shows all.</p>}
              </>
            );
          }}
        </AskedView>
      )}
    </Page>
  );
}
