import type { Duplex } from 'node:stream';

/** Passes bytes in both directions. Each direction may end by itself; an error ends both. */
export function join(one: Duplex, other: Duplex): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => to.destroy());
    from.once('close', () => {
      // A connection that broke must not look like one that has ended.
      if (!from.readableEnded) to.destroy(new Error('the connection was cut off'));
    });
    from.pipe(to);
  }
}
