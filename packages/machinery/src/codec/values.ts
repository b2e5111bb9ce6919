import type { Parts } from '../work/parts.ts';
import { lookedThrough } from './depth.ts';

const [quote, backslash, comma, bracket, brace] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

/** Whether JSON has more than this many fields and items. It need not be valid. Texts that are too short for so many are not read. */
export function* hasMoreValues(json: Uint8Array, limit: number): Parts<boolean> {
  if (json.length <= 2 * limit) return false;
  const reached = { at: 0, count: 0 };
  for (;;) {
    countMore(json, reached, limit);
    if (reached.count > limit) return true;
    if (reached.at >= json.length) return false;
    yield;
  }
}

function countMore(json: Uint8Array, reached: { at: number; count: number }, limit: number): void {
  const end = Math.min(reached.at + lookedThrough, json.length);
  let { at, count } = reached;
  for (; at < end && count <= limit; at++) {
    const code = json[at];
    if (code === quote) at = endOfString(json, at);
    // Each list and object has one more item than commas, or none.
    else if (code === comma || code === bracket || code === brace) count++;
  }
  reached.at = at;
  reached.count = count;
}

/** The longer rest of a string is searched by the engine, which is many times faster; for short strings, asking it takes longer than the search. */
const shortString = 32;

/** The index of the quote that closes the string opened at `start`; the length of the text if it is not closed. */
function endOfString(json: Uint8Array, start: number): number {
  let at = start + 1;
  for (;;) {
    const near = at + shortString;
    for (; at < near; at++) {
      const code = json[at];
      if (code === quote || at >= json.length) return Math.min(at, json.length);
      if (code === backslash) at++;
    }
    const found = json.indexOf(quote, at);
    if (found < 0) return json.length;
    if (!isEscaped(json, found, at)) return found;
    at = found + 1;
  }
}

/** Whether the character is escaped by those before it, of which none before `from` matters. */
function isEscaped(json: Uint8Array, at: number, from: number): boolean {
  let backslashes = 0;
  while (at - backslashes > from && json[at - backslashes - 1] === backslash) backslashes++;
  return backslashes % 2 === 1;
}

const [closingBracket, closingBrace] = [0x5d, 0x7d];

/** Whether an object in the JSON has more than this many fields. The JSON need not be valid. */
export function* hasWideObject(json: Uint8Array, limit: number): Parts<boolean> {
  // A field takes five bytes at least.
  if (json.length <= 5 * limit) return false;
  const reached: Fields = { at: 0, around: [], count: ofList };
  for (;;) {
    countFields(json, reached, limit);
    if (reached.count > limit) return true;
    if (reached.at >= json.length) return false;
    yield;
  }
}

/** Items of lists are not limited. */
const ofList = Number.NEGATIVE_INFINITY;

interface Fields {
  at: number;
  /** Of the object or list that is being read, and of those around it. */
  count: number;
  readonly around: number[];
}

function countFields(json: Uint8Array, reached: Fields, limit: number): void {
  const end = Math.min(reached.at + lookedThrough, json.length);
  const { around } = reached;
  let { at, count } = reached;
  for (; at < end && count <= limit; at++) {
    const code = json[at];
    if (code === quote) at = endOfString(json, at);
    else if (code === comma) count++;
    else if (code === brace || code === bracket) {
      around.push(count);
      count = code === brace ? 1 : ofList;
    } else if (code === closingBrace || code === closingBracket) count = around.pop() ?? ofList;
  }
  reached.at = at;
  reached.count = count;
}
