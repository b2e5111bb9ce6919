import { readFileSync } from 'node:fs';
import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { defaultPrinter, printers } from './printers.ts';

/** A row that kube-apiserver 1.34 printed for an object at a given time. */
interface Row {
  readonly resource: string;
  readonly now: string;
  readonly object: KubeObject;
  readonly cells: unknown[];
}

const rows = JSON.parse(readFileSync(new URL('./fixtures/generated/rows.json', import.meta.url), 'utf8')) as Row[];
const cases = rows.map((row) => ({ ...row, title: `${row.object.kind} ${row.object.metadata.name}` }));

/** The columns that kube-apiserver declares, one `name|type|format|priority` per line. */
const columns = JSON.parse(readFileSync(new URL('./fixtures/generated/columns.json', import.meta.url), 'utf8')) as Record<string, string>;

describe('the columns of kubectl get', () => {
  test.each(Object.entries(columns))('%s', (resource, line) => {
    const printer = printers.get(resource) ?? defaultPrinter;
    expect(printer.columns.map(({ name, type, format, priority }) => [name, type, format, priority].join('|')).join(' ; ')).toBe(line);
  });
});

describe('a row of kubectl get', () => {
  test.each(cases)('$title', ({ resource, now, object, cells }) => {
    const printer = printers.get(resource) ?? defaultPrinter;
    expect(printer.cells(object, new Date(now))).toEqual(cells);
  });
});
