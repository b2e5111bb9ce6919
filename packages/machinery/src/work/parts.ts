/** Work that can be interrupted between its parts. */
export type Parts<Result> = Generator<void, Result>;

/** Does all parts at once. */
export function whole<Result>(parts: Parts<Result>): Result {
  for (;;) {
    const part = parts.next();
    if (part.done) return part.value;
  }
}
