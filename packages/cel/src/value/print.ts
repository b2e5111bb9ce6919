import { spend, spendText } from '@capstan/machinery';
import { elementsOf } from './collections.ts';
import { printDuration } from './duration.ts';
import { printTimestamp } from './timestamp.ts';
import { typeNameOf } from './type-name.ts';
import { Double, Duration, ListValue, MapValue, Timestamp, TypeValue, Uint, type Value } from './value.ts';

/** From this exponent on, Go uses exponent notation. */
const LARGEST_PLAIN_EXPONENT = 6;

/** A double as Go prints it: with the fewest digits, and an exponent from six digits on (`1e+06`). */
export function printDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const [digits = '', power = '0'] = value.toExponential().split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < LARGEST_PLAIN_EXPONENT) return String(value);
  const sign = exponent < 0 ? '-' : '+';
  return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

/** A value as shown in an error message. */
export function printValue(value: Value): string {
  spend(20);
  if (typeof value === 'string') spendText(value.length);
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
  }
  if (value === null) return 'null';
  if (value instanceof Double) return printDouble(value.value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Duration) return printDuration(value);
  if (value instanceof Timestamp) return printTimestamp(value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (value instanceof ListValue) return `[${elementsOf(value).map(printValue).join(', ')}]`;
  if (value instanceof MapValue)
    return `{${value
      .keys()
      .map((key) => `${printValue(key)}: ${printValue(value.find(key)!)}`)
      .join(', ')}}`;
  return typeNameOf(value);
}
