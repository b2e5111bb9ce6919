import type { Measurement } from '../profiles/profile.ts';

/** The median of all rounds for each measurement. */
export function medians(rounds: readonly (readonly Measurement[])[]): Measurement[] {
  return rounds[0]!.map((measurement, row) => {
    const sorted = rounds.map((round) => round[row]!.value).sort((a, b) => a - b);
    return { ...measurement, value: sorted[Math.floor(sorted.length / 2)]! };
  });
}
