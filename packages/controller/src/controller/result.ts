/** How a reconcile ended. A thrown error becomes `error`, `terminal` if it is a `TerminalError`; see `resultOf` for errors that mean less. */
export type Result =
  /** The object is as it should be until something changes. */
  | { readonly type: 'done' }
  /** Reconcile again after this many milliseconds. */
  | { readonly type: 'requeueAfter'; readonly milliseconds: number }
  /** Retry with growing waits. */
  | { readonly type: 'error'; readonly error: unknown }
  /** Retrying does not help until something changes. */
  | { readonly type: 'terminal'; readonly error: unknown };

export const done: Result = { type: 'done' };

export const requeueAfter = (milliseconds: number): Result => ({ type: 'requeueAfter', milliseconds });

/** Thrown anywhere inside a reconcile to end it as `terminal`. */
export class TerminalError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'TerminalError';
  }
}

export interface AgeOptions {
  readonly now: Date;
  /** In milliseconds. */
  readonly min: number;
  /** In milliseconds. */
  readonly max: number;
  /** The part of the age to wait; a fifth by default. */
  readonly part?: number;
}

/**
 * How long to wait before looking again at something that has been pending since a time, in milliseconds. The wait grows with its age: something that
 * has taken long will probably take longer.
 */
export function waitByAge(since: string | null | undefined, { now, min, max, part = 1 / 5 }: AgeOptions): number {
  const age = since === null || since === undefined ? 0 : now.getTime() - Date.parse(since);
  return Math.min(max, Math.max(min, age * part));
}
