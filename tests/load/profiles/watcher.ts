import type { Connection as Address } from '@capstan/testbed';
import { Connection, requestText, secureContext } from '../client/connection.ts';
import type { Latencies } from '../measure/latencies.ts';

export interface WatcherOptions {
  readonly path: string;
  /** How many events must come. */
  readonly events: number;
  readonly lag: Latencies;
}

/** What must come for each object, in this order. */
const steps = ['ADDED', 'MODIFIED', 'MODIFIED', 'DELETED'] as const;

/**
 * One watch that checks every event: nothing left out, nothing twice, versions only rising. Events are searched, not parsed: with 25 watchers the
 * parsing of JSON would cost more than the server does.
 */
export class Watcher {
  readonly done: Promise<void>;
  readonly #options: WatcherOptions;
  readonly #stepOf = new Map<string, number>();
  readonly #settle: { resolve: () => void; reject: (error: Error) => void };
  #rest = '';
  #seen = 0;
  #version = 0;

  private constructor(options: WatcherOptions) {
    this.#options = options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.done = promise;
    this.#settle = { resolve, reject };
    // Whoever waits does so later; until then a failure is nobody's.
    promise.catch(() => {});
  }

  static async open(address: Address, options: WatcherOptions): Promise<Watcher & Disposable> {
    const watcher = new Watcher(options);
    const connection = await Connection.open(address, secureContext(address), (error) => watcher.#fail(error.message));
    connection.send(
      requestText({ method: 'GET', path: options.path, token: address.token }),
      (status) => watcher.#fail(`the watch ended with status ${status}`),
      (text) => watcher.#read(text),
    );
    return Object.assign(watcher, { [Symbol.dispose]: () => connection.close() });
  }

  get seen(): number {
    return this.#seen;
  }

  #fail(message: string): void {
    if (this.#seen < this.#options.events)
      this.#settle.reject(new Error(`a watcher saw ${this.#seen} of ${this.#options.events} events: ${message}`));
  }

  #read(text: string): void {
    const now = performance.timeOrigin + performance.now();
    const all = this.#rest === '' ? text : this.#rest + text;
    let from = 0;
    for (let end = all.indexOf('\n'); end !== -1; end = all.indexOf('\n', from)) {
      this.#event(all, from, now);
      from = end + 1;
    }
    this.#rest = from === all.length ? '' : all.slice(from);
  }

  #event(all: string, from: number, now: number): void {
    const type = between(all, '"type":"', from);
    if (type === 'BOOKMARK') return;
    const name = between(all, '"name":"', from);
    const version = Number(between(all, '"resourceVersion":"', from));
    const step = this.#stepOf.get(name) ?? 0;
    if (type !== steps[step]) this.#fail(`${name}: expected ${steps[step]}, got ${all.slice(from, from + 200)}`);
    else if (!(version > this.#version)) this.#fail(`${name}: version ${version} came after ${this.#version}`);
    else {
      this.#stepOf.set(name, step + 1);
      this.#version = version;
      // A deletion carries the time of the last patch: its lag would be counted wrongly.
      if (type !== 'DELETED') this.#options.lag.add(now - Number(between(all, '"at":"', from)));
      if (++this.#seen === this.#options.events) this.#settle.resolve();
    }
  }
}

function between(text: string, start: string, from: number): string {
  const at = text.indexOf(start, from) + start.length;
  return text.slice(at, text.indexOf('"', at));
}
