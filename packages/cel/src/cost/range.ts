/** A range from least to most. Larger values saturate at 2^64 - 1, as in saturating 64-bit arithmetic. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

export const UNLIMITED = 2 ** 64;
export const unknownSize: Range = { min: 0, max: UNLIMITED };

export function exactly(amount: number): Range {
  return { min: amount, max: amount };
}

function saturated(amount: number): number {
  return Math.min(UNLIMITED, amount);
}

export function add(one: Range, other: Range): Range {
  return { min: saturated(one.min + other.min), max: saturated(one.max + other.max) };
}

export function multiply(one: Range, other: Range): Range {
  return { min: saturated(one.min * other.min), max: saturated(one.max * other.max) };
}

/** Rounded up. */
export function scale(range: Range, factor: number): Range {
  return { min: saturated(Math.ceil(range.min * factor)), max: saturated(Math.ceil(range.max * factor)) };
}

export function union(one: Range, other: Range): Range {
  return { min: Math.min(one.min, other.min), max: Math.max(one.max, other.max) };
}

export function sum(ranges: readonly Range[]): Range {
  return ranges.reduce(add, exactly(0));
}
