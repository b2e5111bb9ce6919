import { enterLimit, leaveLimit } from './steps.ts';

/** Work that can be interrupted between its parts. */
export type Parts<Result> = Generator<void, Result>;

/** Does all parts at once. */
export function whole<Result>(parts: Parts<Result>): Result {
  for (;;) {
    const part = parts.next();
    if (part.done) return part.value;
  }
}

/** Does all parts with a common limit for their steps. Those of others, which run between the parts, do not count. */
export function* limitStepsInParts<Result>(limit: number, parts: Parts<Result>): Parts<Result> {
  for (let left = limit; ; ) {
    const entry = enterLimit(left);
    let part: IteratorResult<void, Result>;
    try {
      part = parts.next();
    } finally {
      left -= leaveLimit(entry);
    }
    if (part.done) return part.value;
    yield;
  }
}

/** How many values are handled in one part: some hundred microseconds. */
const valuesPerPart = 500;
let values = 0;

/**
 * Counts a value, and returns true once in a part: then it is time to `yield`. All work shares the counter, so that it need not be passed down;
 * it decides only when others may run.
 */
export function endsPart(): boolean {
  if (++values < valuesPerPart) return false;
  values = 0;
  return true;
}

/** Longer lists are sorted in pieces, which are then merged. */
const sortedAtOnce = 500;

/** Sorts a list in parts; the list itself may change. */
export function* sortInParts<Item>(list: Item[], compare: (left: Item, right: Item) => number): Parts<Item[]> {
  if (list.length <= sortedAtOnce) return list.sort(compare);
  const middle = list.length >> 1;
  const left = yield* sortInParts(list.slice(0, middle), compare);
  yield;
  const right = yield* sortInParts(list.slice(middle), compare);
  yield;
  let [first, second] = [0, 0];
  for (let at = 0; at < list.length; at++) {
    const isLeft = second === right.length || (first < left.length && compare(left[first]!, right[second]!) <= 0);
    list[at] = isLeft ? left[first++]! : right[second++]!;
    if (endsPart()) yield;
  }
  return list;
}
