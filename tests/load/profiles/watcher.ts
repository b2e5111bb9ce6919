import type { Connection as Address } from '@capstan/testbed';
import { Connection, requestText, secureContext } from '../client/connection.ts';
import type { Latencies } from '../measure/latencies.ts';

export interface WatcherOptions {
  readonly path: string;
  /** How many objects, named by `objectName`, go through their life. */
  readonly objects: number;
  readonly lag: Latencies;
}

/** The events expected for each object, in this order, by their first letter. */
const steps = 'AMMD';
export const eventsOfAnObject = steps.length;
const typeMark = '{"type":"';
const nameMark = '"name":"';
const namePrefix = 'c-';
const versionMark = '"resourceVersion":"';
const timeMark = '"at":"';
/** Times in an object are whole numbers, with this many units per millisecond. */
const timeUnits = 100;

export function objectName(index: number): string {
  return `${namePrefix}${index}`;
}

/** The entry of an object's data that tells a watcher when it was sent. */
export function sentNow(): string {
  return `${timeMark}${Math.round(epochMilliseconds() * timeUnits)}"`;
}

function epochMilliseconds(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * One watch that checks every event: none missing, none repeated, versions only rising. Events are searched instead of parsed, and numbers
 * are read in place: with 25 watchers, parsing JSON would cost more than the server does.
 */
export class Watcher {
  readonly done: Promise<void>;
  readonly #options: WatcherOptions;
  readonly #events: number;
  /** How many events of each object have arrived. */
  readonly #stepOf: Uint8Array;
  readonly #settle: { resolve: () => void; reject: (error: Error) => void };
  #rest = '';
  #seen = 0;
  #version = 0;

  private constructor(options: WatcherOptions) {
    this.#options = options;
    this.#events = options.objects * eventsOfAnObject;
    this.#stepOf = new Uint8Array(options.objects);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.done = promise;
    this.#settle = { resolve, reject };
    // It is awaited later; until then a failure must not count as unhandled.
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
    if (this.#seen < this.#events) this.#settle.reject(new Error(`a watcher saw ${this.#seen} of ${this.#events} events: ${message}`));
  }

  #read(text: string): void {
    const now = epochMilliseconds();
    const all = this.#rest === '' ? text : this.#rest + text;
    let from = 0;
    for (let end = all.indexOf('\n'); end !== -1; end = all.indexOf('\n', from)) {
      this.#event(all, from, now);
      from = end + 1;
    }
    this.#rest = from === all.length ? '' : all.slice(from);
  }

  #event(all: string, from: number, now: number): void {
    const type = all[from + typeMark.length]!;
    const name = all.indexOf(nameMark, from) + nameMark.length;
    // Controllers may create objects of their own, such as the ConfigMap with the root certificate.
    if (type === 'B' || !all.startsWith(namePrefix, name)) return;
    const object = numberAt(all, name + namePrefix.length);
    const version = numberAfter(all, versionMark, from);
    const step = this.#stepOf[object] ?? steps.length;
    if (type !== steps[step]) this.#fail(`object ${object}: expected ${steps[step]}…, got ${all.slice(from, from + 200)}`);
    else if (!(version > this.#version)) this.#fail(`object ${object}: version ${version} arrived after ${this.#version}`);
    else {
      this.#stepOf[object] = step + 1;
      this.#version = version;
      // A deletion carries the time of the last patch, so its lag would be wrong.
      if (type !== 'D') this.#options.lag.add(now - numberAfter(all, timeMark, from) / timeUnits);
      if (++this.#seen === this.#events) this.#settle.resolve();
    }
  }
}

function numberAfter(text: string, mark: string, from: number): number {
  return numberAt(text, text.indexOf(mark, from) + mark.length);
}

/** The digits at this position as a number. NaN if there are none. */
function numberAt(text: string, start: number): number {
  let value = 0;
  for (let at = start; ; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (!(digit >= 0 && digit <= 9)) return at === start ? Number.NaN : value;
    value = value * 10 + digit;
  }
}
