/** The state of a node's agent, as its Lease shows it. */
export type Hearing =
  | { readonly kind: 'heard' /** Milliseconds until it counts as silent. */; readonly left: number }
  /** The Lease was renewed at some time before this process began to listen: nothing is known yet. */
  | { readonly kind: 'listening'; readonly left: number }
  | { readonly kind: 'silent' }
  | { readonly kind: 'never' };

interface Heard {
  readonly renewTime: string;
  readonly at: number;
  readonly isFresh: boolean;
}

/**
 * Remembers when the Leases of nodes changed, by our own clock: those of the machines may be wrong. After a restart every node gets the
 * whole time again.
 */
export class Heartbeats {
  readonly #silentAfter: number;
  readonly #heard = new Map<string, Heard>();

  /** In milliseconds. */
  constructor(silentAfter: number) {
    this.#silentAfter = silentAfter;
  }

  /** Judges a node by the time in its Lease; undefined if it has none. */
  listen(node: string, renewTime: string | undefined, now: number): Hearing {
    if (renewTime === undefined) return { kind: 'never' };
    let heard = this.#heard.get(node);
    if (heard?.renewTime !== renewTime) {
      const isFresh = heard !== undefined || Math.abs(now - Date.parse(renewTime)) < this.#silentAfter;
      this.#heard.set(node, (heard = { renewTime, at: now, isFresh }));
    }
    const left = heard.at + this.#silentAfter - now;
    if (left <= 0) return { kind: 'silent' };
    return { kind: heard.isFresh ? 'heard' : 'listening', left };
  }

  forget(node: string): void {
    this.#heard.delete(node);
  }
}
