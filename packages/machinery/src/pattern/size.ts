/** A class that ignores case is built character by character. */
const foldedClass = 20_000;

/**
 * How large a pattern becomes when its repetitions are written out: an upper bound for the instructions of its program, found without
 * building it.
 */
export function expandedSize(pattern: string): number {
  const ignoresCase = /\(\?[a-zA-Z]*i/.test(pattern);
  const outer: number[] = [];
  let sum = 2;
  let last = 0;
  const add = (size: number): void => {
    sum += last;
    last = size;
  };
  for (let at = 0; at < pattern.length; at++) {
    switch (pattern[at]) {
      case '\\':
        at = endOfEscape(pattern, at);
        add(1);
        break;
      case '[': {
        const end = endOfClass(pattern, at);
        add(ignoresCase && /[^\0-\x7f]|\\[xp]/i.test(pattern.slice(at, end)) ? foldedClass : 1);
        at = end;
        break;
      }
      case '(':
        outer.push(sum + last);
        sum = 2;
        last = 0;
        break;
      case ')':
        if (outer.length === 0) break;
        last = sum + last;
        sum = outer.pop()!;
        break;
      case '{': {
        const repeat = /^\{(\d{1,5})(?:,(\d{0,5}))?\}/.exec(pattern.slice(at, at + 14));
        if (repeat === null) add(1);
        else {
          last = (last + 1) * Math.max(Number(repeat[1]), Number(repeat[2] ?? 0), 1);
          at += repeat[0].length - 1;
        }
        break;
      }
      case '*':
      case '+':
      case '?':
      case '|':
        last++;
        break;
      default:
        add(1);
    }
  }
  return outer.reduce((total, size) => total + size, sum + last);
}

function endOfEscape(pattern: string, at: number): number {
  if (pattern[at + 2] !== '{' || !'xpP'.includes(pattern[at + 1]!)) return at + 1;
  const end = pattern.slice(at, at + 64).indexOf('}');
  return end < 0 ? at + 1 : at + end;
}

function endOfClass(pattern: string, start: number): number {
  let at = start + 1;
  if (pattern[at] === '^') at++;
  if (pattern[at] === ']') at++;
  for (; at < pattern.length && pattern[at] !== ']'; at++) {
    if (pattern[at] === '\\') at++;
    else if (pattern.startsWith('[:', at)) {
      const end = pattern.slice(at, at + 16).indexOf(':]');
      if (end > 0) at += end + 1;
    }
  }
  return at;
}
