import type { Range } from './contract.ts';

/*
 * Keys are ordered by their UTF-8 bytes, which is the order of their code points. JavaScript compares UTF-16 units instead, which differs
 * where a surrogate (of a code point above U+FFFF) meets a unit from U+E000 on.
 */

const firstSurrogate = 0xd800;
const lastCodePoint = 0x10ffff;

/** Every key that begins with `prefix`; all keys if it is empty. */
export function prefixRange(prefix: string): Range {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!);
  while (points.at(-1) === lastCodePoint) points.pop();
  const last = points.pop();
  if (last === undefined) return { start: prefix, end: String.fromCodePoint(lastCodePoint) };
  const next = last + 1 === firstSurrogate ? 0xe000 : last + 1;
  return { start: prefix, end: String.fromCodePoint(...points, next) };
}

/** Negative if `a` comes before `b`, positive if after, 0 if they are equal. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return left >= firstSurrogate && right >= firstSurrogate ? rank(left) - rank(right) : left - right;
  }
  return a.length - b.length;
}

/** Moves surrogates above the rest of the basic plane. */
function rank(unit: number): number {
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** A membership test that runs once per event and watcher: uses native comparison whenever that is correct. */
export function rangeTest(range: Range): (key: string) => boolean {
  const { start, end } = range;
  // The first differing unit of the bound is below the surrogates, where both orders agree.
  if (isBelowSurrogates(start) && isBelowSurrogates(end)) return (key) => key >= start && key < end;
  return (key) => compareKeys(key, start) >= 0 && compareKeys(key, end) < 0;
}

function isBelowSurrogates(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) >= firstSurrogate) return false;
  return true;
}
