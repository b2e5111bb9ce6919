import { fieldError } from '@capstan/machinery';

type Interval = readonly [first: number, last: number];

/** Parses one interval of a text such as `0-2,5`; returns the problem if it is invalid. */
function intervalOf(text: string, completions: number): Interval | string {
  const limits = text.split('-');
  if (limits.length > 2) {
    const rule = "violates the requirement that an index interval can have at most two parts separated by '-'";
    return `the fragment ${fieldError.quote(text)} ${rule}`;
  }
  for (const limit of limits) {
    if (!/^\+?\d+$/.test(limit)) return `cannot convert string to integer for index: ${fieldError.quote(limit)}`;
    if (Number(limit) >= completions) return `too large index: ${fieldError.quote(limit)}`;
  }
  const [first, last] = [Number(limits[0]), Number(limits.at(-1))];
  if (limits.length === 2 && first >= last) return `non-increasing order, previous: ${first}, current: ${last}`;
  return [first, last];
}

/** Counts the indexes in a text such as `0-2,5`; returns the problem if it is invalid. */
export function countIndexes(text: string, completions: number): number | string {
  if (text === '') return 0;
  let total = 0;
  let last = -1;
  for (const part of text.split(',')) {
    const interval = intervalOf(part, completions);
    if (typeof interval === 'string') return interval;
    const [first, end] = interval;
    if (last >= first) return `non-increasing order, previous: ${last}, current: ${first}`;
    total += end - first + 1;
    last = end;
  }
  return total;
}

/** The first index that both texts contain. Invalid intervals are skipped, as they are reported elsewhere. */
export function commonIndex(one: string, other: string, completions: number): number | undefined {
  const [left, right] = [one, other].map((text) =>
    text.split(',').flatMap((part) => {
      const interval = intervalOf(part, completions);
      return typeof interval === 'string' ? [] : [interval];
    }),
  ) as [Interval[], Interval[]];
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    const [first, last] = left[i]!;
    const [start, end] = right[j]!;
    if (first <= end && start <= last) return Math.max(first, start);
    if (first <= start) i++;
    else j++;
  }
  return undefined;
}
