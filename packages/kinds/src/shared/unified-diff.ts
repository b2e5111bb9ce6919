/** A line diff of two values with three lines of context, the form in which messages show changes of large structs. */
export function changesBetween(before: unknown, after: unknown): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  return hunksOf(steps(old, now)).map(printHunk).join('');
}

const context = 3;

function linesOf(value: unknown): string[] {
  const text = JSON.stringify(value, null, 1);
  return text.replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`).split('\n');
}

interface Step {
  readonly mark: ' ' | '-' | '+';
  readonly line: string;
  /** Line numbers in the old and new text, from 0. */
  readonly old: number;
  readonly now: number;
}

/** The edit steps between two texts: their common prefix and suffix, and the longest common subsequence in between. */
function steps(old: readonly string[], now: readonly string[]): Step[] {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const [oldEnd, nowEnd] = [old.length - end, now.length - end];
  const lengths = commonLengths(old.slice(start, oldEnd), now.slice(start, nowEnd));
  const found: Step[] = [];
  for (let at = 0; at < start; at++) found.push({ mark: ' ', line: old[at]!, old: at, now: at });
  let [i, j] = [start, start];
  while (i < oldEnd || j < nowEnd) {
    if (i < oldEnd && j < nowEnd && old[i] === now[j]) found.push({ mark: ' ', line: old[i]!, old: i++, now: j++ });
    else if (j >= nowEnd || (i < oldEnd && lengths[i - start + 1]![j - start]! >= lengths[i - start]![j - start + 1]!))
      found.push({ mark: '-', line: old[i]!, old: i++, now: j });
    else found.push({ mark: '+', line: now[j]!, old: i, now: j++ });
  }
  for (let at = 0; at < end; at++) found.push({ mark: ' ', line: old[oldEnd + at]!, old: oldEnd + at, now: nowEnd + at });
  return found;
}

/** The number of common lines of the remainders, from each pair of positions. */
function commonLengths(old: readonly string[], now: readonly string[]): number[][] {
  const lengths = Array.from({ length: old.length + 1 }, () => Array.from({ length: now.length + 1 }, () => 0));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--)
      lengths[i]![j] = old[i] === now[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
  }
  return lengths;
}

function hunksOf(all: readonly Step[]): Step[][] {
  const hunks: Step[][] = [];
  let last = -1;
  for (const [index, { mark }] of all.entries()) {
    if (mark === ' ') continue;
    const from = Math.max(0, index - context);
    if (hunks.length > 0 && from <= last) hunks.at(-1)!.push(...all.slice(last, index + context + 1));
    else hunks.push(all.slice(from, index + context + 1));
    last = Math.min(all.length, index + context + 1);
  }
  return hunks;
}

function printHunk(hunk: readonly Step[]): string {
  const first = hunk[0]!;
  const count = (other: string): number => hunk.filter(({ mark }) => mark !== other).length;
  const header = `@@ -${range(first.old, count('+'))} +${range(first.now, count('-'))} @@\n`;
  return header + hunk.map(({ mark, line }) => `${mark}${line}\n`).join('');
}

function range(start: number, count: number): string {
  if (count === 1) return String(start + 1);
  return `${count === 0 ? start : start + 1},${count}`;
}
