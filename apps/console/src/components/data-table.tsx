import { createSortedRowModel, rowSortingFeature, type SortFn, tableFeatures, useTable } from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type MouseEvent, type ReactNode, useMemo, useRef } from 'react';
import styles from './data-table.module.css';
import { useIsNarrow } from './use-is-narrow.ts';

/** The text or number that a column sorts and is searched by. */
export type CellValue = string | number | undefined;

export interface Column<T> {
  readonly id: string;
  readonly header: string;
  readonly value: (row: T) => CellValue;
  /** By default the value itself. */
  readonly cell?: (row: T) => ReactNode;
  readonly align?: 'end';
  /** Takes the room that the others leave. On narrow screens, it has a line of its own below the others. */
  readonly grow?: boolean;
  /** The words of that line, if they are others. */
  readonly narrowCell?: (row: T) => ReactNode;
  /** Hidden on narrow screens. */
  readonly wideOnly?: boolean;
}

interface DataTableProps<T> {
  /** Says what the table contains, for people who cannot see it. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly idOf: (row: T) => string;
  readonly sortBy?: { readonly id: string; readonly desc?: boolean };
  readonly onOpen?: (row: T) => void;
}

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() });
const rowHeight = 40;
/** Below it, all rows are in the document, so that the browser's own search finds them. */
const virtualFrom = 200;

const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

/** Numbers by size, texts as people count (`a9` before `a10`), nothing at the end. */
const compare: SortFn<typeof features, object> = (a, b, id) => {
  const [one, other] = [a.getValue<CellValue>(id), b.getValue<CellValue>(id)];
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return collator.compare(String(one ?? '\uffff'), String(other ?? '\uffff'));
};

/** A table with rows of one height, of which only the visible ones are drawn once there are many. */
export function DataTable<T extends object>({ label, columns, rows, idOf, sortBy, onOpen }: DataTableProps<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const definitions = useMemo(
    () => columns.map(({ id, header, value }) => ({ id, header, accessorFn: value as (row: object) => CellValue, sortFn: compare })),
    [columns],
  );
  const initial = useMemo(() => ({ sorting: sortBy === undefined ? [] : [{ id: sortBy.id, desc: sortBy.desc ?? false }] }), [sortBy]);
  const table = useTable({
    features,
    columns: definitions,
    data: rows as unknown as object[],
    initialState: initial,
    getRowId: (row) => idOf(row as T),
    enableSortingRemoval: false,
  });
  const sorted = table.getRowModel().rows;
  const isVirtual = sorted.length >= virtualFrom;
  const virtual = useVirtualizer({
    count: isVirtual ? sorted.length : 0,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  const drawn = isVirtual ? virtual.getVirtualItems() : [];
  const visible = isVirtual ? drawn.map(({ index }) => ({ row: sorted[index]!, index })) : sorted.map((row, index) => ({ row, index }));
  const before = drawn[0]?.start ?? 0;
  const after = isVirtual ? virtual.getTotalSize() - (drawn.at(-1)?.end ?? 0) : 0;
  const byId = new Map(columns.map((column) => [column.id, column]));
  const below = useIsNarrow() && !isVirtual ? columns.find(({ grow, wideOnly }) => grow === true && wideOnly !== true) : undefined;
  const beside = columns.filter((column) => column !== below);

  return (
    <div ref={scroller} className={styles['scroller']} data-virtual={isVirtual || undefined}>
      <table className={styles['table']} aria-label={label} {...(isVirtual && { 'aria-rowcount': sorted.length + 1 })}>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id} aria-rowindex={isVirtual ? 1 : undefined}>
              {group.headers
                .filter(({ id }) => id !== below?.id)
                .map(({ id, column }) => {
                  const order = column.getIsSorted();
                  const { align, grow, wideOnly, header } = byId.get(id)!;
                  return (
                    <th
                      key={id}
                      scope="col"
                      data-align={align}
                      data-grow={grow || undefined}
                      data-wide={wideOnly || undefined}
                      aria-sort={order === false ? 'none' : order === 'asc' ? 'ascending' : 'descending'}
                    >
                      {header !== '' && (
                        <button type="button" onClick={() => column.toggleSorting()}>
                          {header}
                          <span aria-hidden="true" className={styles['order']}>
                            {order === 'asc' ? '↑' : order === 'desc' ? '↓' : ''}
                          </span>
                        </button>
                      )}
                    </th>
                  );
                })}
            </tr>
          ))}
        </thead>
        <tbody>
          {before > 0 && <tr style={{ height: before }} />}
          {visible.map(({ row, index }) => (
            <Row
              key={row.id}
              row={row.original as T}
              // The header is the first one. If all rows are in the document, they need no numbers.
              position={isVirtual ? index + 2 : undefined}
              columns={beside}
              below={below}
              onOpen={onOpen}
            />
          ))}
          {after > 0 && <tr style={{ height: after }} />}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps<T> {
  readonly row: T;
  readonly position: number | undefined;
  readonly columns: readonly Column<T>[];
  /** The column that has a line of its own. */
  readonly below: Column<T> | undefined;
  readonly onOpen: ((row: T) => void) | undefined;
}

/** A click anywhere opens the row; with the keyboard, the link in its first cell does. */
function Row<T extends object>({ row, position, columns, below, onOpen }: RowProps<T>) {
  const common = {
    'aria-rowindex': position,
    'data-open': onOpen === undefined ? undefined : true,
    onClick: (event: MouseEvent<HTMLTableRowElement>) => {
      if (onOpen === undefined || (event.target as Element).closest('a, button, input, label') !== null) return;
      if (getSelection()?.toString() === '') onOpen(row);
    },
  };
  const text = below?.value(row);
  const hasLine = below !== undefined && text !== undefined && text !== '';
  return (
    <>
      <tr {...common} data-above={hasLine || undefined}>
        {columns.map(({ id, value, cell, align, grow, wideOnly }) => (
          <td key={id} data-align={align} data-grow={grow || undefined} data-wide={wideOnly || undefined}>
            {cell === undefined ? (value(row) ?? '–') : cell(row)}
          </td>
        ))}
      </tr>
      {hasLine && (
        <tr {...common} data-below>
          <td colSpan={columns.length}>{below.narrowCell?.(row) ?? below.cell?.(row) ?? text}</td>
        </tr>
      )}
    </>
  );
}
