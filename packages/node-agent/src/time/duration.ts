const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `1h30m` in milliseconds. */
export function milliseconds(duration: string): number {
  return [...duration.matchAll(/([0-9.]+)(ms|s|m|h)/g)].reduce((sum, [, number, unit]) => sum + Number(number) * units[unit!]!, 0);
}
