/** Numbers at one time. */
export interface Sample {
  /** Seconds since 1970. */
  readonly at: number;
  readonly values: Readonly<Record<string, number | undefined>>;
}

/** Adds a sample and drops those that are older than the span, in seconds. A sample that was seen before changes nothing. */
export function withSample(history: readonly Sample[], sample: Sample, span: number): readonly Sample[] {
  const last = history.at(-1);
  if (last !== undefined && last.at >= sample.at) return history;
  return [...history.filter(({ at }) => at > sample.at - span), sample];
}

/** One line for each name, in the order of their names. */
export function seriesOf(history: readonly Sample[]): {
  readonly times: readonly number[];
  readonly series: readonly { readonly label: string; readonly values: readonly (number | null)[] }[];
} {
  const names = [...new Set(history.flatMap(({ values }) => Object.keys(values)))].sort();
  return {
    times: history.map(({ at }) => at),
    series: names.map((label) => ({ label, values: history.map(({ values }) => values[label] ?? null) })),
  };
}
