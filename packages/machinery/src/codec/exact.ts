import type { Json } from '../json.ts';

/** A number with this many digits may not fit a JavaScript number. Most texts have none and are checked at almost no cost. */
const manyDigits = 16;

/** A run of that many digits must cover one of the sampled positions, so only the digits around those are counted. */
function hasManyDigits(text: string, start: number, end: number): boolean {
  for (let at = start + manyDigits - 1; at < end; at += manyDigits) {
    if (!isDigit(text, at)) continue;
    let [first, last] = [at, at];
    while (isDigit(text, first - 1)) first--;
    while (isDigit(text, last + 1)) last++;
    if (last - first + 1 >= manyDigits) return true;
  }
  return false;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}

const integer = /^-?[0-9]+$/;
const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n];

/**
 * JSON.parse without loss: a 64-bit integer that a number cannot hold exactly becomes a BigInt, which serializes to the same digits. Larger
 * integers become floats, as in Kubernetes. The type says number: the few places that see such large integers check for them.
 */
export function parseExact(text: string): Json {
  return exactParserFor(text, 0, text.length)(text);
}

/** Chooses the parser that reads a part of the text without loss. It looks at the part where it is: characters of texts that are cut and joined take long to read. */
export function exactParserFor(text: string, start: number, end: number): (part: string) => Json {
  return hasManyDigits(text, start, end) ? parseDigits : parsePlain;
}

const parseDigits = (text: string): Json => JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown) as Json;
const parsePlain = (text: string): Json => JSON.parse(text) as Json;

function keepDigits(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined || !integer.test(source)) return value;
  return exactInteger(BigInt(source), value);
}

/** The integer itself if it fits in 64 bits, otherwise the nearest number. */
export function exactInteger(value: bigint, nearest: number): number {
  return value >= least && value <= most ? (value as unknown as number) : nearest;
}

/** Whether the value is a 64-bit integer kept as a BigInt. */
export function isLargeInteger(value: unknown): value is bigint {
  return typeof value === 'bigint';
}

interface RawJson {
  rawJSON(text: string): unknown;
}

Object.defineProperty(BigInt.prototype, 'toJSON', {
  configurable: true,
  writable: true,
  value(this: bigint) {
    return (JSON as unknown as RawJson).rawJSON(this.toString());
  },
});
