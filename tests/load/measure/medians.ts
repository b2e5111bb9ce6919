import type { Measurement } from '../profiles/profile.ts';

/** Number by number, the middle of all rounds. */
export function medians(rounds: readonly (readonly Measurement[])[]): Measurement[] {
  return rounds[0]!.map((measurement, row) => {
    const sorted = rounds.map((round) => round[row]!.value).sort((a, b) => a - b);
    return { ...measurement, value: sorted[Math.floor(sorted.length / 2)]! };
  });
}
