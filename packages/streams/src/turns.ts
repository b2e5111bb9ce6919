import type { Readable } from 'node:stream';

/**
 * How many bytes of one connection are handled before others get their turn. Without a limit, the event loop reads up to 2 MiB of a connection that
 * always has more, and everybody else waits meanwhile.
 */
export const bytesPerTurn = 256 << 10;

let turn = 0;
let isCounting = false;

/** The number of the current turn of the event loop. All connections share one timer. */
function currentTurn(): number {
  if (!isCounting) {
    isCounting = true;
    setImmediate(() => {
      isCounting = false;
      turn++;
    });
  }
  return turn;
}

/** The share of one connection in the turns of the event loop. */
export class TurnShare {
  #turn = -1;
  #bytes = 0;

  /** Counts bytes that were handled. True if no more should be in this turn. */
  use(bytes: number): boolean {
    const now = currentTurn();
    if (now !== this.#turn) {
      this.#turn = now;
      this.#bytes = 0;
    }
    this.#bytes += bytes;
    return this.#bytes >= bytesPerTurn;
  }
}

/** Pauses a flowing stream of bytes until the next turn whenever it has had its share. `mayResume` is asked before it goes on. */
export function takeTurns(source: Readable, mayResume: () => boolean = () => true): void {
  const share = new TurnShare();
  source.on('data', (chunk: Buffer) => {
    if (!share.use(chunk.length)) return;
    source.pause();
    setImmediate(() => {
      if (!source.destroyed && mayResume()) source.resume();
    });
  });
}
