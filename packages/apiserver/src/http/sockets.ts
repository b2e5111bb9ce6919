import { affordableSockets, type Descriptors, ownDescriptors, ownLimit } from './descriptors.ts';

export interface SocketsOptions {
  /** When the process started; what it has open now when absent. */
  readonly descriptors?: Descriptors | undefined;
  /** How many descriptors the process may open now. */
  readonly limit?: () => number | undefined;
  readonly now?: () => number;
}

/** The part of all sockets that streams to nodes may open. Their clients have as many, so that a third is left for everybody else. */
const shareOfStreams = 1 / 3;
/** How often the limit of the process is read while there are too many sockets, in milliseconds. */
const readEvery = 1_000;

/**
 * The sockets of the process: connections of clients, and those that streams open to nodes. Each is an open file. Together they leave enough files for
 * everything else.
 */
export class Sockets {
  readonly #open: number;
  readonly #limit: () => number | undefined;
  readonly #now: () => number;
  #readAt = Number.NEGATIVE_INFINITY;
  /** How many there can be of both. */
  most: number;
  /** Those that streams have opened to nodes. */
  toNodes = 0;
  /** Makes room for one more if all are taken, at the expense of connections that nobody uses. False if there is none. */
  makeRoom: () => boolean = () => true;

  constructor({ descriptors = ownDescriptors(), limit = ownLimit, now = () => performance.now() }: SocketsOptions = {}) {
    this.#open = descriptors?.open ?? 0;
    this.#limit = limit;
    this.#now = now;
    this.most = affordableSockets(descriptors);
  }

  /** How many streams may open. */
  get mostToNodes(): number {
    return Math.max(1, Math.floor(this.most * shareOfStreams));
  }

  /** How many connections to nodes each pool may keep open without use: they come out of the files for everything else. */
  get mostIdle(): number {
    return Math.min(128, Math.max(4, Math.floor(this.most / 32)));
  }

  /** Looks whether the limit of the process was raised. */
  refresh(): void {
    const now = this.#now();
    if (now - this.#readAt < readEvery) return;
    this.#readAt = now;
    const limit = this.#limit();
    if (limit !== undefined) this.most = affordableSockets({ limit, open: this.#open });
  }
}
