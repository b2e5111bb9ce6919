import { Duration, type Exotic, goTypeOf, Timestamp, Uint } from '@capstan/cel';
import { GoValue, type Json } from '@capstan/machinery';

/** Values that no field can hold, in the form in which error messages show them. */
export function goValue(value: Exotic): Json {
  if (typeof value === 'bigint') return Number(value);
  return new GoValue(goTypeOf(value), printed(value), syntax(value)) as unknown as Json;
}

function printed(value: Exclude<Exotic, bigint>): string {
  if (value === null) return 'NULL_VALUE';
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return `[${value.join(' ')}]`;
  return value instanceof Timestamp ? `${clock(value)} +0000 UTC` : `${value.nanoseconds}ns`;
}

function syntax(value: Exclude<Exotic, bigint>): string {
  if (value === null) return '0';
  if (value instanceof Uint) return `0x${value.value.toString(16)}`;
  if (value instanceof Uint8Array) return `[]uint8{${Array.from(value, (byte) => `0x${byte.toString(16)}`).join(', ')}}`;
  return value instanceof Duration ? String(value.nanoseconds) : dateSyntax(value);
}

function dateOf({ nanoseconds }: Timestamp): Date {
  return new Date(Number(nanoseconds / 1_000_000n));
}

function clock(time: Timestamp): string {
  return dateOf(time)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, '');
}

function dateSyntax(time: Timestamp): string {
  const date = dateOf(time);
  const month = date.toLocaleString('en', { month: 'long', timeZone: 'UTC' });
  const hours = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds(), time.nanoseconds % 1_000_000_000n].join(', ');
  return `time.Date(${date.getUTCFullYear()}, time.${month}, ${date.getUTCDate()}, ${hours}, time.UTC)`;
}
