import { isObject } from '../json.ts';

/** A part of an object, read field by field: kinds are declared as tables, so their shape is not known to the compiler. */
export type Fields = { [name: string]: unknown };

const noFields: Readonly<Fields> = Object.freeze(Object.create(null) as Fields);
const noItems: readonly Fields[] = Object.freeze([]);

/** The object that stands there, or one without fields. Only for reading. */
export function fieldsOf(value: unknown): Readonly<Fields> {
  return isObject(value) ? value : noFields;
}

/** The object that stands there, when one does. */
export function maybeFields(value: unknown): Fields | undefined {
  return isObject(value) ? value : undefined;
}

/** The objects in a list; none when there is no list. Only for reading. */
export function itemsOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? (value as Fields[]) : noItems;
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? (value as string[]) : [];
}

export function numberOf(value: unknown): number {
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'number' ? value : 0;
}

/** A map of strings such as labels; empty when there is none. */
export function stringMapOf(value: unknown): Readonly<Record<string, string>> {
  return fieldsOf(value) as Record<string, string>;
}

/** Absent in the sense of an optional field. */
export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}
