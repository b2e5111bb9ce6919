import type { Json } from '../json.ts';

/** So many digits may be more than a number holds. Texts without them are the rule, and cost nearly nothing more. */
const manyDigits = 16;

/** A run of that many characters covers one of the places that are so far apart: only there is it worth looking closer. */
function hasManyDigits(text: string): boolean {
  for (let at = manyDigits - 1; at < text.length; at += manyDigits) {
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
 * JSON.parse without loss: an integer of 64 bits that a number cannot hold becomes a BigInt, which is written to JSON as the digits that it came from.
 * What has more bits than that is a fraction for Kubernetes too. For the compiler it is a number: few places look at integers so large, and those tell.
 */
export function parseExact(text: string): Json {
  return hasManyDigits(text)
    ? (JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown) as Json)
    : (JSON.parse(text) as Json);
}

function keepDigits(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined || !integer.test(source)) return value;
  return exactInteger(BigInt(source), value);
}

/** The integer itself where 64 bits hold it; the nearest number otherwise. */
export function exactInteger(value: bigint, nearest: number): number {
  return value >= least && value <= most ? (value as unknown as number) : nearest;
}

/** An integer of 64 bits, in either form. */
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
