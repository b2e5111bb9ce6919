/** How well a text answers a query: undefined if it does not, and less is better. All words of the query have to occur. */
export function rank(query: string, text: string): number | undefined {
  const lower = text.toLowerCase();
  let sum = 0;
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = lower.indexOf(word);
    if (at === -1) return undefined;
    const isStart = at === 0 || /[^a-z0-9]/.test(lower[at - 1]!);
    sum += at + (isStart ? 0 : 50);
  }
  return sum;
}

/** The choices that answer a query, the best first. Equal ones keep their order. */
export function found<T>(query: string, choices: readonly T[], textOf: (choice: T) => string): readonly T[] {
  return choices
    .map((choice) => ({ choice, rank: rank(query, textOf(choice)) }))
    .filter((one): one is { choice: T; rank: number } => one.rank !== undefined)
    .sort((a, b) => a.rank - b.rank)
    .map(({ choice }) => choice);
}
