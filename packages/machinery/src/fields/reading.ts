import { isObject } from '../json.ts';

/** A part of an object, read field by field: kinds are declared as tables, so the compiler does not know their shape. */
export type Fields = { [name: string]: unknown };

const noFields: Readonly<Fields> = Object.freeze(Object.create(null) as Fields);
const noItems: readonly Fields[] = Object.freeze([]);

/** The object, or one without fields if the value is not an object. Read-only. */
export function fieldsOf(value: unknown): Readonly<Fields> {
  return isObject(value) ? value : noFields;
}

/** The object; undefined if the value is not an object. */
export function maybeFields(value: unknown): Fields | undefined {
  return isObject(value) ? value : undefined;
}

/** The objects in a list; empty if the value is not a list. Read-only. */
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

/** A map of strings such as labels; empty if absent. */
export function stringMapOf(value: unknown): Readonly<Record<string, string>> {
  return fieldsOf(value) as Record<string, string>;
}

/** Whether an optional field is absent. */
export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}
