/** How long to wait, in milliseconds, until so much time has passed since something happened. A clock that was set back ends the wait. */
export function pauseLeft(pause: number, { since, now }: { readonly since: number; readonly now: number }): number {
  const left = since + pause - now;
  return left > pause ? 0 : Math.max(0, left);
}
