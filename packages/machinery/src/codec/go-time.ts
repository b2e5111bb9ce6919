import { CodecError } from './error.ts';

const zero = 0x30;
const nine = 0x39;

/** A time in whole seconds, as Kubernetes stores it: `2026-01-02T03:04:05Z`. Converts other zones and drops fractions. */
export function canonicalTime(text: string): string {
  if (text.length === 20 && isPlainTime(text)) return text;
  const { seconds } = parseGoTime(text, '2006-01-02T15:04:05Z07:00');
  return printSeconds(seconds);
}

/** A time in microseconds: `2026-01-02T03:04:05.000006Z`. */
export function canonicalMicroTime(text: string): string {
  const { seconds, fraction } = parseGoTime(text, '2006-01-02T15:04:05.000000Z07:00');
  return `${printSeconds(seconds).slice(0, -1)}.${fraction}Z`;
}

/** Seconds since 1970 as RFC 3339. */
export function printSeconds(seconds: number): string {
  const text = new Date(seconds * 1000).toISOString();
  return `${text.slice(0, text.length - 5)}Z`;
}

const shape = '0000-00-00T00:00:00Z';

/** Recognizes `0000-00-00T00:00:00Z` with digits and every part valid for any month: the common case, without parsing. */
function isPlainTime(text: string): boolean {
  for (let index = 0; index < 20; index++) {
    const code = text.charCodeAt(index);
    const expected = shape.charCodeAt(index);
    if (expected === zero ? code < zero || code > nine : code !== expected) return false;
  }
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  return (
    month >= 1 && month <= 12 && day >= 1 && day <= 28 && twoDigits(text, 11) < 24 && twoDigits(text, 14) < 60 && twoDigits(text, 17) < 60
  );
}

function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - zero) * 10 + text.charCodeAt(at + 1) - zero;
}

interface GoTime {
  readonly seconds: number;
  /** Six digits. */
  readonly fraction: string;
}

/** The elements of the layout in order, with the pattern of each. */
const elements: readonly { readonly layout: string; readonly pattern: RegExp }[] = [
  { layout: '2006', pattern: /^\d{4}/ },
  { layout: '-', pattern: /^-/ },
  { layout: '01', pattern: /^\d\d/ },
  { layout: '-', pattern: /^-/ },
  { layout: '02', pattern: /^\d\d/ },
  { layout: 'T', pattern: /^T/ },
  { layout: '15', pattern: /^\d\d/ },
  { layout: ':', pattern: /^:/ },
  { layout: '04', pattern: /^\d\d/ },
  { layout: ':', pattern: /^:/ },
  { layout: '05', pattern: /^\d\d/ },
];

const limits: readonly [element: number, name: string, low: number, high: number][] = [
  [1, 'month', 1, 12],
  [3, 'hour', 0, 23],
  [4, 'minute', 0, 59],
  [5, 'second', 0, 59],
];

/** Parses the two layouts that Kubernetes uses, with the errors of Go's time.Parse. */
function parseGoTime(text: string, layout: string): GoTime {
  const fail = (rest: string, element: string): CodecError =>
    new CodecError(`parsing time ${JSON.stringify(text)} as "${layout}": cannot parse ${JSON.stringify(rest)} as "${element}"`);
  let rest = text;
  const numbers: number[] = [];
  for (const element of elements) {
    const found = element.pattern.exec(rest)?.[0];
    if (found === undefined) throw fail(rest, element.layout);
    if (element.layout.length > 1) numbers.push(Number(found));
    rest = rest.slice(found.length);
  }
  const micro = layout.includes('.000000');
  const fraction = micro ? (/^\.\d{6}/.exec(rest)?.[0] ?? '') : (/^[.,]\d+/.exec(rest)?.[0] ?? '');
  if (micro && fraction === '') throw fail(rest, '.000000');
  rest = rest.slice(fraction.length);
  const zone = /^(?:Z|([+-])(\d\d):(\d\d))/.exec(rest);
  if (zone === null) throw fail(rest, 'Z07:00');
  rest = rest.slice(zone[0].length);
  if (rest !== '') throw new CodecError(`parsing time ${JSON.stringify(text)}: extra text: ${JSON.stringify(rest)}`);
  return { seconds: toSeconds(text, numbers) - zoneSeconds(zone), fraction: fraction.slice(1, 7).padEnd(6, '0') };
}

function toSeconds(text: string, [year, month, day, hour, minute, second]: readonly number[]): number {
  const numbers = [year!, month!, day!, hour!, minute!, second!];
  for (const [element, name, low, high] of limits) {
    if (numbers[element]! < low || numbers[element]! > high)
      throw new CodecError(`parsing time ${JSON.stringify(text)}: ${name} out of range`);
  }
  const date = new Date(0);
  date.setUTCFullYear(year!, month! - 1, day!);
  date.setUTCHours(hour!, minute!, second!, 0);
  if (day! < 1 || date.getUTCDate() !== day!) throw new CodecError(`parsing time ${JSON.stringify(text)}: day out of range`);
  return date.getTime() / 1000;
}

function zoneSeconds([, sign, hours, minutes]: RegExpExecArray): number {
  if (sign === undefined) return 0;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60);
}
