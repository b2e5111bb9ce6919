const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** The milliseconds in a duration that has passed the schema, such as `1h30m`. */
export function millisecondsIn(duration: string): number {
  let sum = 0;
  for (const [, amount = '0', unit = 'ms'] of duration.matchAll(/([0-9.]+)(ms|s|m|h)/g)) sum += Number(amount) * units[unit]!;
  return sum;
}
