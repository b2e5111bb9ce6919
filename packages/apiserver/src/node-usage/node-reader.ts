import { BoundedMap } from '@capstan/machinery';
import type { Tunnels } from '../connect/tunnels.ts';

export interface NodeReaderOptions<T> {
  readonly tunnels: Tunnels;
  /** The path on the node. */
  readonly path: string;
  /** Reads the answer of a node. Nodes are not trusted: throws if it is not as expected. */
  readonly parse: (text: string) => T;
  /** How long an answer is used, and how long a node may take, in milliseconds. */
  readonly maxAge?: number | undefined;
  readonly patience?: number;
  /** How many nodes are asked at the same time. */
  readonly concurrency?: number;
  readonly now?: () => number;
}

/** In bytes: some thousand units. */
const largestAnswer = 4 << 20;
/** How many nodes are remembered. */
const capacity = 10_000;

interface Held<T> {
  readonly until: number;
  readonly value: Promise<T | undefined>;
}

/** Reads numbers from nodes through their tunnels. A node is asked once for all who want to know, and again when the answer is old. */
export class NodeReader<T> implements Disposable {
  readonly #options: NodeReaderOptions<T>;
  readonly #now: () => number;
  readonly #held = new BoundedMap<string, Held<T>>(capacity);
  readonly #stop = new AbortController();
  readonly #waiting: (() => void)[] = [];
  #asking = 0;

  constructor(options: NodeReaderOptions<T>) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** The answer of a node; undefined if it is not connected, does not answer in time or answers with something else. */
  read(node: string): Promise<T | undefined> {
    const held = this.#held.get(node);
    if (held !== undefined && held.until > this.#now()) return held.value;
    // Until the answer is there, everybody waits for the same one.
    const value = this.#ask(node).then((answer) => {
      if (this.#held.get(node)?.value === value) this.#held.set(node, { until: this.#now() + (this.#options.maxAge ?? 5_000), value });
      return answer;
    });
    this.#held.set(node, { until: Number.POSITIVE_INFINITY, value });
    return value;
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }

  async #ask(node: string): Promise<T | undefined> {
    const { concurrency = 32 } = this.#options;
    if (this.#asking >= concurrency) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#asking++;
    try {
      return await this.#request(node);
    } catch {
      return undefined;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#asking--;
      else next();
    }
  }

  async #request(node: string): Promise<T | undefined> {
    const { tunnels, path, patience = 3_000, parse } = this.#options;
    const connection = await tunnels.to(node);
    if (connection === undefined) return undefined;
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(patience)]);
    const { status, stream } = await connection.request({ method: 'GET', path: `/node${path}`, signal });
    stream.on('error', () => {});
    try {
      stream.end();
      if (status !== 200) return undefined;
      const parts: Buffer[] = [];
      let length = 0;
      for await (const part of stream as AsyncIterable<Buffer>) {
        length += part.length;
        if (length > largestAnswer) return undefined;
        parts.push(part);
      }
      return parse(Buffer.concat(parts).toString('utf8'));
    } finally {
      stream.destroy();
    }
  }
}
