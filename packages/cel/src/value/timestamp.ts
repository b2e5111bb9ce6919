import { BoundedMap, spend } from '@capstan/machinery';
import { CelError, Timestamp } from './value.ts';

const SECOND = 1_000_000_000n;
/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999999Z. */
const MINIMUM = -62_135_596_800n * SECOND;
const MAXIMUM = 253_402_300_799n * SECOND + 999_999_999n;

export const timestampOverflow = new CelError('timestamp overflow');

const strict = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:(Z)|([+-])(\d\d):(\d\d))$/;
const lenient = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:([Zz])|([+-])(\d\d):?(\d\d))?$/;

/** Parses an RFC 3339 time; undefined if it is invalid. */
export function parseTimestamp(text: string): Timestamp | undefined {
  return read(strict.exec(text));
}

/** Parses a string of `format: date-time`, which may omit the zone. */
export function parseDateTime(text: string): Timestamp | undefined {
  return read(lenient.exec(text));
}

export function parseDate(text: string): Timestamp | undefined {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? parseTimestamp(`${text}T00:00:00Z`) : undefined;
}

function read(match: RegExpExecArray | null): Timestamp | undefined {
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [number, number, number, number, number, number];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59) return undefined;
  const [fraction, , sign, offsetHours, offsetMinutes] = match.slice(7);
  if (Number(offsetHours ?? 0) > 24 || Number(offsetMinutes ?? 0) > 59) return undefined;
  const offset = (Number(offsetHours ?? 0) * 60 + Number(offsetMinutes ?? 0)) * 60 * (sign === '-' ? -1 : 1);
  const milliseconds = new Date(0).setUTCFullYear(year, month - 1, day) + ((hour * 60 + minute) * 60 + second) * 1000;
  const seconds = BigInt(milliseconds / 1000 - offset);
  const nanoseconds = BigInt((fraction ?? '').slice(0, 9).padEnd(9, '0'));
  return makeTimestamp(seconds * SECOND + nanoseconds);
}

function daysIn(year: number, month: number): number {
  return new Date(new Date(0).setUTCFullYear(year, month, 0)).getUTCDate();
}

/** A timestamp between the years 1 and 9999; undefined outside of them. */
export function makeTimestamp(nanoseconds: bigint): Timestamp | undefined {
  return nanoseconds < MINIMUM || nanoseconds > MAXIMUM ? undefined : new Timestamp(nanoseconds);
}

/** Whole seconds since 1970, rounded towards the past. */
export function secondsOf({ nanoseconds }: Timestamp): bigint {
  return (nanoseconds - fractionOf(nanoseconds)) / SECOND;
}

function fractionOf(nanoseconds: bigint): bigint {
  return ((nanoseconds % SECOND) + SECOND) % SECOND;
}

/** RFC 3339 in UTC, with as many fractional digits as needed. */
export function printTimestamp(timestamp: Timestamp): string {
  const date = new Date(Number(secondsOf(timestamp)) * 1000).toISOString().replace('.000Z', '');
  const fraction = String(fractionOf(timestamp.nanoseconds)).padStart(9, '0').replace(/0+$/, '');
  return `${date}${fraction === '' ? '' : `.${fraction}`}Z`;
}

/** The wall-clock time in a time zone (`UTC`, `+02:00`, `Europe/Berlin`) as the UTC fields of a Date; undefined for an unknown zone. */
export function inZone(timestamp: Timestamp, zone: string | undefined): Date | undefined {
  const milliseconds = Number(secondsOf(timestamp)) * 1000 + Number(fractionOf(timestamp.nanoseconds) / 1_000_000n);
  const utc = new Date(milliseconds);
  if (zone === undefined || zone === '' || zone === 'UTC') return utc;
  const offset = /^([+-]?)(\d\d):(\d\d)$/.exec(zone);
  if (offset !== null) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3]);
    return new Date(milliseconds + (offset[1] === '-' ? -minutes : minutes) * 60_000);
  }
  return inNamedZone(utc, zone);
}

/** Creating a format takes some ten thousand times longer than reading a field. */
const formats = new BoundedMap<string, Intl.DateTimeFormat>(64);
const STEPS_PER_ZONE = 2000;

function formatOf(zone: string): Intl.DateTimeFormat {
  const numeric = 'numeric';
  const fields = { year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric } as const;
  return formats.getOrCompute(zone, () => new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', ...fields }));
}

function inNamedZone(utc: Date, zone: string): Date | undefined {
  spend(STEPS_PER_ZONE);
  try {
    const format = formatOf(zone);
    const fields = new Map(format.formatToParts(utc).map((field) => [field.type, Number(field.value)]));
    const date = new Date(0);
    date.setUTCFullYear(fields.get('year')!, fields.get('month')! - 1, fields.get('day')!);
    date.setUTCHours(fields.get('hour')!, fields.get('minute')!, fields.get('second')!, utc.getUTCMilliseconds());
    return date;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
