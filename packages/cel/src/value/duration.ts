import { spend, spendText } from '@capstan/machinery';
import { CelError, Duration } from './value.ts';

const MAXIMUM = 2n ** 63n - 1n;
const MINIMUM = -(2n ** 63n);

export const durationOverflow = new CelError('duration overflow');

const units = new Map<string, bigint>([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);
/** No duration has more digits before its point. */
const MOST_DIGITS = 20;
const part = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;

/** Parses a duration as Go does: `1h30m`, `-1.5s`, `0`. Undefined if it is invalid. */
export function parseDuration(text: string): Duration | undefined {
  const isNegative = text.startsWith('-');
  const body = /^[+-]/.test(text) ? text.slice(1) : text;
  if (body === '0') return new Duration(0n);
  if (body === '') return undefined;
  // Digits without a unit are read forth and back.
  spendText(body.length * 4);
  let total = 0n;
  part.lastIndex = 0;
  while (part.lastIndex < body.length) {
    const match = part.exec(body);
    if (match === null) return undefined;
    const [, whole = '', fraction = '', unitName = ''] = match;
    if (whole === '' && fraction === '') return undefined;
    const unit = units.get(unitName)!;
    if (whole.replace(/^0+/, '').length > MOST_DIGITS) return undefined;
    spend(10);
    total += BigInt(whole === '' ? '0' : whole) * unit;
    if (fraction !== '') total += (BigInt(fraction.slice(0, 30)) * unit) / 10n ** BigInt(Math.min(fraction.length, 30));
  }
  return makeDuration(isNegative ? -total : total);
}

export function makeDuration(nanoseconds: bigint): Duration | undefined {
  return nanoseconds < MINIMUM || nanoseconds > MAXIMUM ? undefined : new Duration(nanoseconds);
}

const wordUnits: readonly (readonly [readonly string[], bigint])[] = [
  [['ns', 'nano'], 1n],
  [['us', 'µs', 'micro'], 1_000n],
  [['ms', 'milli'], 1_000_000n],
  [['s', 'sec'], 1_000_000_000n],
  [['m', 'min'], 60_000_000_000n],
  [['h', 'hr', 'hour'], 3_600_000_000_000n],
  [['d', 'day'], 86_400_000_000_000n],
  [['w', 'wk', 'week'], 604_800_000_000_000n],
];

/** No string of `format: duration` is longer. An object that was stored before its schema had the format may have a longer one. */
const longestFormatted = 128;

/** Parses a string of `format: duration`: Go's notation, or amounts with unit words such as `3 days`. */
export function parseFormatDuration(text: string): Duration | undefined {
  // Digits without a word are searched for one from each of them on.
  if (text.length > longestFormatted) return undefined;
  const plain = parseDuration(text);
  if (plain !== undefined) return plain;
  let total = 0n;
  let isFound = false;
  for (const [, digits = '', word = ''] of text.matchAll(/(\d+)\s*([A-Za-zµ]+)/g)) {
    const unit = word.toLowerCase();
    for (const [names, size] of wordUnits) {
      if (!names.includes(unit) && !unit.startsWith(names.at(-1)!)) continue;
      isFound = true;
      total += BigInt(digits) * size;
    }
  }
  return isFound ? makeDuration(total) : undefined;
}

/** In seconds, as CEL prints durations: `1.5s`. */
export function printDuration({ nanoseconds }: Duration): string {
  const magnitude = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = String(magnitude % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/0+$/, '');
  const seconds = `${magnitude / 1_000_000_000n}${fraction === '' ? '' : `.${fraction}`}s`;
  return nanoseconds < 0n ? `-${seconds}` : seconds;
}
