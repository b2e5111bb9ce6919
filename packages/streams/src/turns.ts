import type { Readable } from 'node:stream';

/**
 * How many bytes of one connection are handled before others get their turn. Without a limit, the event loop reads up to 2 MiB of a connection that
 * always has more, and everybody else waits meanwhile.
 */
export const bytesPerTurn = 256 << 10;
/**
 * How much all streams together handle in one turn of the event loop: eight short messages, about half a millisecond of work. Five hundred streams that
 * get a line at the same time would otherwise keep every request waiting until the last line is sent.
 */
export const workPerTurn = 32 << 10;
/** To pass on a message takes as long as this many bytes of it do, however short it is. */
export const workPerMessage = 4 << 10;
/** A source is to be paused while more than this waits for its turn. */
export const mostWaiting = 64 << 10;

/** Work that waits for its turn. */
interface Waiting {
  /** Does all of it, and returns how much it was. */
  run(): number;
}

let turn = 0;
/** How much streams have done in this turn. */
let done = 0;
let isCounting = false;
let waiting: Waiting[] = [];

/** The number of the current turn of the event loop. All connections share one timer. */
function currentTurn(): number {
  if (!isCounting) {
    isCounting = true;
    setImmediate(nextTurn);
  }
  return turn;
}

/** Requests that arrived in the meantime have been read by now. */
function nextTurn(): void {
  isCounting = false;
  turn++;
  done = 0;
  if (waiting.length === 0) return;
  const turns = waiting;
  let at = 0;
  try {
    while (at < turns.length && done < workPerTurn) done += turns[at++]!.run();
  } finally {
    // Streams that came in the meantime are at the end.
    waiting = turns.slice(at);
    currentTurn();
  }
}

/** Passes on the messages of one stream: at once while this turn has time for streams, and otherwise in a later one, after those that came before. */
export class TurnTaker<Message> implements Waiting {
  readonly #handle: (messages: readonly Message[]) => void;
  #messages: Message[] = [];
  #bytes = 0;

  /** Messages that have waited together are handled together. */
  constructor(handle: (messages: readonly Message[]) => void) {
    this.#handle = handle;
  }

  /** The bytes that wait for their turn. */
  get bytes(): number {
    return this.#bytes;
  }

  add(message: Message, bytes: number): void {
    currentTurn();
    if (this.#messages.length === 0 && done < workPerTurn) {
      done += bytes + workPerMessage;
      this.#handle([message]);
      return;
    }
    this.#bytes += bytes;
    if (this.#messages.push(message) === 1) waiting.push(this);
  }

  /** Handles everything that waits now, because the end of the stream has come. */
  flush(): void {
    if (this.#messages.length > 0) this.run();
  }

  /** Forgets everything that waits. */
  clear(): void {
    this.#messages = [];
    this.#bytes = 0;
  }

  run(): number {
    const messages = this.#messages;
    // Flushed or cleared before its turn.
    if (messages.length === 0) return 0;
    const work = this.#bytes + workPerMessage;
    this.clear();
    this.#handle(messages);
    return work;
  }
}

/** The share of one connection in the turns of the event loop. */
class TurnShare {
  #turn = -1;
  #bytes = 0;

  /** Counts bytes that were handled. True if no more should be in this turn. */
  use(bytes: number): boolean {
    const now = currentTurn();
    if (now !== this.#turn) {
      this.#turn = now;
      this.#bytes = 0;
    }
    done += bytes + workPerMessage;
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
