import type { Measurement } from '../profiles/profile.ts';

/** The median of all rounds for each measurement of the first. */
export function medians(rounds: readonly (readonly Measurement[])[]): Measurement[] {
  return rounds[0]!.map((measurement) => {
    const sorted = rounds.flatMap((round) => round.find(({ what }) => what === measurement.what)?.value ?? []).sort((a, b) => a - b);
    return { ...measurement, value: sorted[Math.floor(sorted.length / 2)]! };
  });
}
