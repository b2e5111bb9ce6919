import { DURATION, INT, STRING, TIMESTAMP } from '../types/type.ts';
import { intValue } from '../value/integer.ts';
import { inZone } from '../value/timestamp.ts';
import { CelError, type Duration, type Timestamp, type Value } from '../value/value.ts';
import { type FunctionEntry, member, type Overload } from './function.ts';

function getter(id: string, read: (date: Date) => number): Overload[] {
  const get = (timestamp: Timestamp, zone?: string): Value => {
    const date = inZone(timestamp, zone);
    return date === undefined ? new CelError(`unknown time zone ${zone}`) : read(date);
  };
  return [
    member(`timestamp_to_${id}`, [TIMESTAMP], INT, (timestamp: Timestamp) => get(timestamp)),
    member(`timestamp_to_${id}_with_tz`, [TIMESTAMP, STRING], INT, get),
  ];
}

function part(id: string, nanoseconds: bigint, modulus?: bigint): Overload {
  return member(`duration_to_${id}`, [DURATION], INT, (duration: Duration) => {
    const whole = duration.nanoseconds / nanoseconds;
    return intValue(modulus === undefined ? whole : whole % modulus);
  });
}

function dayOfYear(date: Date): number {
  const start = new Date(date);
  start.setUTCMonth(0, 1);
  return Math.round((date.getTime() - start.getTime()) / 86_400_000);
}

export const time: readonly FunctionEntry[] = [
  ['getFullYear', getter('year', (date) => date.getUTCFullYear())],
  ['getMonth', getter('month', (date) => date.getUTCMonth())],
  ['getDayOfYear', getter('day_of_year', dayOfYear)],
  ['getDayOfMonth', getter('day_of_month', (date) => date.getUTCDate() - 1)],
  ['getDate', getter('day_of_month_1_based', (date) => date.getUTCDate())],
  ['getDayOfWeek', getter('day_of_week', (date) => date.getUTCDay())],
  ['getHours', [...getter('hours', (date) => date.getUTCHours()), part('hours', 3_600_000_000_000n)]],
  ['getMinutes', [...getter('minutes', (date) => date.getUTCMinutes()), part('minutes', 60_000_000_000n)]],
  ['getSeconds', [...getter('seconds', (date) => date.getUTCSeconds()), part('seconds', 1_000_000_000n)]],
  ['getMilliseconds', [...getter('milliseconds', (date) => date.getUTCMilliseconds()), part('milliseconds', 1_000_000n)]],
];
