import type { LogLine } from './log-buffer.ts';

/** A part of a line: found or not. */
export interface Part {
  readonly text: string;
  readonly isFound: boolean;
}

/** The positions in the array of the lines that contain the words, in any case. */
export function matchesIn(lines: readonly LogLine[], query: string): readonly number[] {
  const wanted = query.toLowerCase();
  if (wanted === '') return [];
  return lines.flatMap(({ text }, index) => (text.toLowerCase().includes(wanted) ? [index] : []));
}

/** The line in parts, so that the found ones can be marked without markup. */
export function partsOf(text: string, query: string): readonly Part[] {
  const wanted = query.toLowerCase();
  if (wanted === '') return [{ text, isFound: false }];
  const lower = text.toLowerCase();
  // Some letters change their length in lower case, so that positions would be wrong.
  if (lower.length !== text.length) return [{ text, isFound: lower.includes(wanted) }];
  const parts: Part[] = [];
  let from = 0;
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, from)) {
    if (at > from) parts.push({ text: text.slice(from, at), isFound: false });
    parts.push({ text: text.slice(at, at + wanted.length), isFound: true });
    from = at + wanted.length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), isFound: false });
  return parts;
}
