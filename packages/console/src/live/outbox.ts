import type { acceptWebSocket } from '@capstan/streams';

export type WebSocket = NonNullable<ReturnType<typeof acceptWebSocket>>;

/** In bytes: larger messages are sent in pieces, so that one can see that a slow reader reads. */
const piece = 256 << 10;
/** In bytes: as long as more is on its way, nothing else is sent. */
const enough = 1 << 20;

/** Sends messages at the speed of their reader. */
export class Outbox {
  readonly #socket: WebSocket;
  readonly #onFree: () => void;
  /** Bytes that the system has not taken yet. */
  #onTheirWay = 0;
  /** Messages cannot be sent between the pieces of another. */
  #isInPieces = false;
  #progressAt = performance.now();

  /** `onFree` is called when it is no longer busy. */
  constructor(socket: WebSocket, onFree: () => void) {
    this.#socket = socket;
    this.#onFree = onFree;
  }

  get isBusy(): boolean {
    return this.#isInPieces || this.#onTheirWay >= enough || this.#socket.readyState !== this.#socket.OPEN;
  }

  /** For how many milliseconds the reader has accepted nothing; undefined if there is nothing to accept. */
  get stuckFor(): number | undefined {
    return this.#onTheirWay === 0 ? undefined : performance.now() - this.#progressAt;
  }

  /** Must not be called while it is busy. */
  send(message: string): void {
    const bytes = Buffer.from(message);
    if (bytes.length > piece) this.#sendPiece(bytes, 0);
    else this.#push(bytes, { fin: true, onSent: () => this.#free() });
  }

  #sendPiece(bytes: Buffer, from: number): void {
    const end = from + piece;
    const fin = end >= bytes.length;
    this.#isInPieces = true;
    this.#push(bytes.subarray(from, end), {
      fin,
      onSent: () => {
        if (!fin) return this.#sendPiece(bytes, end);
        this.#isInPieces = false;
        this.#free();
      },
    });
  }

  #push(bytes: Buffer, { fin, onSent }: { readonly fin: boolean; readonly onSent: () => void }): void {
    if (this.#onTheirWay === 0) this.#progressAt = performance.now();
    this.#onTheirWay += bytes.length;
    this.#socket.send(bytes, { binary: false, fin }, (error) => {
      this.#onTheirWay -= bytes.length;
      this.#progressAt = performance.now();
      // Its close follows.
      if (error === undefined || error === null) onSent();
    });
  }

  #free(): void {
    if (!this.isBusy) this.#onFree();
  }
}
