import { spend, spendText } from '@capstan/machinery';
import { elementsOf } from '../value/collections.ts';
import { printDuration } from '../value/duration.ts';
import { printDouble } from '../value/print.ts';
import { printTimestamp } from '../value/timestamp.ts';
import { typeNameOf } from '../value/type-name.ts';
import { CelError, Double, Duration, ListValue, MapValue, Timestamp, TypeValue, Uint, type Value } from '../value/value.ts';

/** Of numbers with a fraction, above all. */
const STEPS_PER_CLAUSE = 50;
/** Of a list or map: its text is made, and joined to those around it. */
const STEPS_PER_ELEMENT = 50;
const DEFAULT_PRECISION = 6;
/** JavaScript's maximum. */
const MOST_DIGITS = 100;

/** A clause that is invalid or does not match its argument; becomes an error value. */
export class FormatError extends Error {}

/** `template.format(args)`: `%s %d %f %e %b %x %X %o %%`, with a precision for `%f` and `%e`. */
export function formatText(template: string, args: ListValue): Value {
  try {
    return formatClauses(template, elementsOf(args));
  } catch (error) {
    if (error instanceof FormatError) return new CelError(error.message);
    throw error;
  }
}

export interface Clause {
  readonly verb: string;
  readonly precision: number | undefined;
  readonly length: number;
}

/** Parses the clause after a `%`. */
export function readClause(template: string, start: number): Clause {
  if (start >= template.length) throw new FormatError('unexpected end of string');
  const match = /^(?:\.(\d*))?/.exec(template.slice(start, start + 20))!;
  if (match[1] === '') {
    const reason = 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax';
    throw new FormatError(`could not parse formatting clause: error while parsing precision: ${reason}`);
  }
  const precision = match[1] === undefined ? undefined : Number(match[1]);
  const verb = template[start + match[0].length];
  if (verb === undefined)
    throw new FormatError('could not parse formatting clause: error while parsing precision: could not find end of precision specifier');
  if (!'sdfebxXo'.includes(verb)) throw new FormatError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
  return { verb, precision, length: match[0].length + 1 };
}

function formatClauses(template: string, args: readonly Value[]): string {
  let result = '';
  let next = 0;
  spend(template.length);
  for (let index = 0; index < template.length; index++) {
    if (template[index] !== '%') {
      result += template[index];
      continue;
    }
    if (template[index + 1] === '%') {
      result += '%';
      index++;
      continue;
    }
    const clause = readClause(template, index + 1);
    const argument = args[next];
    if (argument === undefined) throw new FormatError(`index ${next} out of range`);
    if (argument instanceof CelError) throw new FormatError(argument.message);
    result += formatValue(argument, clause);
    next++;
    index += clause.length;
  }
  return result;
}

function formatValue(value: Value, { verb, precision }: Clause): string {
  spend(STEPS_PER_CLAUSE);
  switch (verb) {
    case 's':
      return formatString(value);
    case 'd':
      return formatDecimal(value);
    case 'f':
      return formatFixed(value, precision ?? DEFAULT_PRECISION);
    case 'e':
      return formatScientific(value, precision ?? DEFAULT_PRECISION);
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0';
      return integerOf(value, 'only integers and bools can be formatted as binary').toString(2);
    case 'o':
      return integerOf(value, 'octal clause can only be used on integers').toString(8);
    default:
      return verb === 'X' ? formatHexadecimal(value).toUpperCase() : formatHexadecimal(value);
  }
}

function failure(rule: string, value: Value): FormatError {
  return new FormatError(`error during formatting: ${rule}, was given ${typeNameOf(value)}`);
}

function integerOf(value: Value, rule: string): bigint {
  if (typeof value === 'number' || typeof value === 'bigint') return BigInt(value);
  if (value instanceof Uint) return value.value;
  throw failure(rule, value);
}

function formatDecimal(value: Value): string {
  return integerOf(value, 'decimal clause can only be used on integers').toString();
}

const specials = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

function doubleOf(value: Value, rule: string): number {
  if (value instanceof Double) return value.value;
  const special = typeof value === 'string' ? specials.get(value) : undefined;
  if (special === undefined) throw failure(rule, value);
  return special;
}

function formatFixed(value: Value, precision: number): string {
  const number = doubleOf(value, 'fixed-point clause can only be used on doubles');
  if (!Number.isFinite(number)) return infinite(number);
  const [whole = '', fraction] = plainFixed(number, precision).split('.');
  return fraction === undefined ? grouped(whole) : `${grouped(whole)}.${fraction}`;
}

function plainFixed(number: number, precision: number): string {
  const digits = Math.min(precision, MOST_DIGITS);
  if (Math.abs(number) < 1e21) return roundHalfEven(number, digits);
  return `${BigInt(number)}${digits === 0 ? '' : `.${'0'.repeat(digits)}`}`;
}

/** Kubernetes prints numbers as in American English: `12,345`. */
function grouped(whole: string): string {
  spend(whole.length);
  const groups: string[] = [];
  let end = whole.length;
  for (; end - 3 > (whole.startsWith('-') ? 1 : 0); end -= 3) groups.unshift(whole.slice(end - 3, end));
  return [whole.slice(0, end), ...groups].join(',');
}

/** JavaScript rounds exact ties up, Go to even. */
function roundHalfEven(number: number, digits: number): string {
  const exact = Math.abs(number).toFixed(MOST_DIGITS);
  const cut = exact.length - MOST_DIGITS + digits;
  const isTie = /^\.?50*$/.test(exact.slice(digits === 0 ? cut - 1 : cut));
  if (!isTie) return number.toFixed(digits);
  const kept = exact.slice(0, digits === 0 ? cut - 1 : cut);
  const isEven = Number(kept.at(-1)) % 2 === 0;
  const rounded = isEven ? kept : Math.abs(number).toFixed(digits);
  return number < 0 ? `-${rounded}` : rounded;
}

/** Always six digits: in Kubernetes' version of this function, the precision is used as a width. */
function formatScientific(value: Value, width: number): string {
  const number = doubleOf(value, 'scientific clause can only be used on doubles');
  if (!Number.isFinite(number)) return infinite(number);
  const [digits, exponent = ''] = number.toExponential(DEFAULT_PRECISION).split('e');
  const power = `${exponent.startsWith('-') ? '-' : ''}${exponent.slice(1).padStart(2, '0')}`;
  return `${digits}×10${Array.from(power, (digit) => superscripts.get(digit)!).join('')}`.padStart(Math.min(width, MOST_DIGITS));
}

const superscripts = new Map(Array.from('0123456789-', (digit, index): [string, string] => [digit, '⁰¹²³⁴⁵⁶⁷⁸⁹⁻'[index]!]));

function infinite(number: number): string {
  return Number.isNaN(number) ? 'NaN' : number > 0 ? '∞' : '-∞';
}

function formatHexadecimal(value: Value): string {
  if (typeof value === 'string') return Buffer.from(value).toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return integerOf(value, 'only integers, byte buffers, and strings can be formatted as hex').toString(16);
}

/** `%s`, also used for the elements of lists and maps. */
function formatString(value: Value): string {
  spend(STEPS_PER_ELEMENT);
  if (typeof value === 'string') {
    spendText(value.length);
    return value;
  }
  if (value === null) return 'null';
  if (typeof value === 'boolean' || typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Double) return printDouble(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (value instanceof Timestamp) return printTimestamp(value);
  if (value instanceof Duration) return printDuration(value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof ListValue) return `[${elementsOf(value).map(formatElement).join(', ')}]`;
  if (value instanceof MapValue) return formatMap(value);
  throw failure(
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
    value,
  );
}

function formatMap(map: MapValue): string {
  const entries = map.keys().map((key): [string, string] => [formatElement(key), formatElement(map.find(key)!)]);
  entries.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([key, value]) => `${key}:${value}`).join(', ')}}`;
}

/** An element is printed as CEL source, so that strings have quotes. */
function formatElement(value: Value): string {
  if (typeof value === 'string') {
    spend(STEPS_PER_ELEMENT);
    spendText(value.length * 4);
    return JSON.stringify(value);
  }
  if (value instanceof Uint8Array) return `b${JSON.stringify(Buffer.from(value).toString())}`;
  if (value instanceof Timestamp) return `timestamp("${printTimestamp(value)}")`;
  if (value instanceof Duration) return `duration("${printDuration(value)}")`;
  if (value instanceof Double) {
    spend(STEPS_PER_CLAUSE);
    return Number.isFinite(value.value) ? plainFixed(value.value, DEFAULT_PRECISION) : JSON.stringify(printDouble(value.value));
  }
  if (value instanceof CelError) throw new FormatError(value.message);
  return formatString(value);
}
