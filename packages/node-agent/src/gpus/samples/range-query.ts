import { parseTime } from '@capstan/machinery';
import { maxPoints, type Range } from './history.ts';

/** By default, the last hour. */
const usualLength = 3_600_000;
const usualSteps = 240;
/** Samples are not closer. */
const shortestStep = 1_000;

/**
 * The range that a request names: `from` and `to` as times in RFC 3339 format or as seconds since 1970, `step` as a duration or in seconds. Undefined if it names none, and a
 * text that says what is wrong with it.
 */
export function rangeOf(query: URLSearchParams, now: number): Range | string | undefined {
  if (!['from', 'to', 'step'].some((name) => query.has(name))) return undefined;
  const times = { from: timeIn(query.get('from')), to: timeIn(query.get('to')) };
  for (const [name, time] of Object.entries(times))
    if (time === 'invalid')
      return `${name}: expected a time such as 2026-01-02T15:04:05Z, or seconds since 1970, found ${JSON.stringify(query.get(name))}`;
  const to = (times.to as number | undefined) ?? now;
  const from = (times.from as number | undefined) ?? to - usualLength;
  if (!(from < to)) return 'from: expected a time before "to"';
  const asked = query.get('step');
  const step = asked === null ? Math.max(shortestStep, Math.ceil((to - from) / usualSteps)) : durationIn(asked);
  if (step === undefined || step < shortestStep)
    return `step: expected a duration such as 30s or 5m, of at least one second, found ${JSON.stringify(asked)}`;
  if ((to - from) / step > maxPoints) return `step: expected at most ${maxPoints} steps; use longer ones`;
  return { from, to, step };
}

function timeIn(text: string | null): number | 'invalid' | undefined {
  if (text === null) return undefined;
  if (/^\d{1,11}(\.\d{1,9})?$/.test(text)) return Math.round(Number(text) * 1_000);
  return parseTime(text)?.getTime() ?? 'invalid';
}

const lengths: Readonly<Record<string, number>> = { '': 1_000, s: 1_000, m: 60_000, h: 3_600_000 };

function durationIn(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,9})([smh]?)$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * lengths[unit]!;
}
