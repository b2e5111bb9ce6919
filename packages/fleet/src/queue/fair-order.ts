import { compareAge, type Waiting } from './waiting.ts';

interface Line {
  readonly tenant: string;
  readonly waiting: readonly Waiting[];
  next: number;
  share: number;
}

/**
 * The order in which waiting requests get their chance: by priority, then the tenant with the smallest share, then by age. The share is
 * asked for again after each request, because it grows with what was just granted.
 */
export function* fairOrder(waiting: readonly Waiting[], shareOf: (tenant: string) => number): Generator<Waiting> {
  const levels = [...Map.groupBy(waiting, ({ priority }) => priority)].sort(([one], [other]) => other - one);
  for (const [, members] of levels) {
    const lines = [...Map.groupBy(members, ({ tenant }) => tenant)]
      .map(([tenant, own]): Line => ({ tenant, waiting: own.sort(compareAge), next: 0, share: shareOf(tenant) }))
      .sort(compareLines);
    while (lines.length > 0) {
      const line = lines.shift()!;
      yield line.waiting[line.next++]!;
      if (line.next === line.waiting.length) continue;
      line.share = shareOf(line.tenant);
      lines.splice(placeOf(lines, line), 0, line);
    }
  }
}

function compareLines(one: Line, other: Line): number {
  return one.share - other.share || compareAge(one.waiting[one.next]!, other.waiting[other.next]!);
}

function placeOf(lines: readonly Line[], line: Line): number {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareLines(lines[middle]!, line) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
