/** How a reconcile ended. Throwing is `error`, or `terminal` when it is a `TerminalError`. */
export type Result =
  /** The object is as it should be, until something changes. */
  | { readonly type: 'done' }
  /** Look again after so many milliseconds. */
  | { readonly type: 'requeueAfter'; readonly milliseconds: number }
  /** Try again, with growing waits. */
  | { readonly type: 'error'; readonly error: unknown }
  /** Trying again would not help before something changes. */
  | { readonly type: 'terminal'; readonly error: unknown };

export const done: Result = { type: 'done' };

export const requeueAfter = (milliseconds: number): Result => ({ type: 'requeueAfter', milliseconds });

/** Thrown from anywhere inside a reconcile, it ends as `terminal`. */
export class TerminalError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'TerminalError';
  }
}
