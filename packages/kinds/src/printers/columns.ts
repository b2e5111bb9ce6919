import { age, type Fields, fieldsOf, type KubeObject } from '@capstan/machinery';
import type { Column, TablePrinter } from '../strategy.ts';

const types = { i: 'integer', b: 'boolean', d: 'date' } as const;

/**
 * Parses columns from a list of names separated by commas. `:i`, `:b` and `:d` after a name set a type other than string, `!` marks the
 * name that identifies the object, `+` a column shown only with -o wide.
 */
function columns(line: string): Column[] {
  return line.split(', ').map((word) => {
    const [, marks, name, type] = /^([!+]*)(.*?)(?::([ibd]))?$/.exec(word)!;
    return {
      name: name!,
      type: type === undefined ? 'string' : types[type as keyof typeof types],
      format: marks!.includes('!') ? 'name' : '',
      priority: marks!.includes('+') ? 1 : 0,
    };
  });
}

/** The values that most rows use. */
export interface Row {
  readonly object: KubeObject;
  readonly name: string;
  readonly age: string;
  readonly spec: Readonly<Fields>;
  readonly status: Readonly<Fields>;
  readonly now: Date;
}

export type Cell = string | number | boolean | null;

export function printer(line: string, cells: (row: Row) => Cell[]): TablePrinter {
  return {
    columns: columns(line),
    cells: (object, now) =>
      cells({
        object,
        name: object.metadata.name ?? '',
        age: age(object.metadata.creationTimestamp, now),
        spec: fieldsOf(object['spec']),
        status: fieldsOf(object['status']),
        now,
      }),
  };
}
