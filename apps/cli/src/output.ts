import type { KubeObject } from '@capstan/machinery';
import { dump } from 'js-yaml';
import { columns } from './columns.ts';
import type { OutputFormat } from './output-format.ts';

/** A column of a table; `wide` ones are printed only if they are asked for. */
export interface Column<T> {
  readonly name: string;
  readonly value: (object: T) => string | number | undefined;
  readonly isWide?: boolean;
}

const write = (text: string): void => void process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);

/** Prints one object, or a list of them, as JSON or YAML. */
export function printObject(object: object, format: 'json' | 'yaml'): void {
  write(format === 'json' ? JSON.stringify(object, undefined, 2) : dump(object));
}

export function printList<T extends object>(
  items: readonly T[],
  { output, table, empty }: { readonly output?: OutputFormat | undefined; readonly table: readonly Column<T>[]; readonly empty: string },
): void {
  if (output === 'json' || output === 'yaml') return printObject({ apiVersion: 'v1', kind: 'List', items }, output);
  if (items.length === 0) return write(empty);
  const shown = table.filter(({ isWide }) => isWide !== true || output === 'wide');
  const rows = items.map((item) => shown.map(({ value }) => String(value(item) ?? '-')));
  for (const line of columns([shown.map(({ name }) => name), ...rows])) write(line);
}

/** Prints the names of objects for other commands, as kubectl does. */
export function printNames(items: readonly KubeObject[], resource: string): void {
  for (const { metadata } of items) write(`${resource}/${metadata.name}`);
}

/** Prints one object as JSON or YAML, else as lines of names and values. */
export function printOne<T extends KubeObject>(
  object: T,
  { output, table }: { readonly output?: OutputFormat | undefined; readonly table: readonly Column<T>[] },
): void {
  if (output === 'json' || output === 'yaml') return printObject(object, output);
  const rows = table.flatMap(({ name, value }) => {
    const text = value(object);
    return text === undefined ? [] : [[`${name}:`, String(text)]];
  });
  for (const line of columns(rows)) write(line);
}
