import type { Connection as Address } from '@capstan/testbed';
import { Connection, requestText, secureContext } from '../client/connection.ts';

/**
 * A watch that counts the objects with events, each once. Events are searched instead of parsed, because the generator shares its
 * processors with the server.
 */
export class CountingWatch implements Disposable {
  readonly #connection: Connection;
  readonly #seen = new Set<string>();
  readonly #isMeant: (event: string) => boolean;
  readonly #waiting: { count: number; resolve: () => void }[] = [];
  #rest = '';
  #ended: string | undefined;

  private constructor(connection: Connection, isMeant: (event: string) => boolean) {
    this.#connection = connection;
    this.#isMeant = isMeant;
  }

  static async open(address: Address, path: string, isMeant: (event: string) => boolean): Promise<CountingWatch> {
    const connection = await Connection.open(address, secureContext(address), (error) => watch.#end(error.message));
    const watch = new CountingWatch(connection, isMeant);
    connection.send(
      requestText({ method: 'GET', path, token: address.token }),
      (status) => watch.#end(`the watch ended with status ${status}`),
      (text) => watch.#read(text),
    );
    return watch;
  }

  get count(): number {
    return this.#seen.size;
  }

  /** Resolves when this many were seen; throws if the watch or the time ends before. */
  async until(count: number, seconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ count, resolve });
    this.#settle();
    const limit = setTimeout(resolve, seconds * 1000);
    await promise;
    clearTimeout(limit);
    if (this.count < count) throw new Error(`a watch saw ${this.count} of ${count}: ${this.#ended ?? 'time is up'}`);
  }

  [Symbol.dispose](): void {
    this.#ended ??= 'closed';
    this.#connection.close();
  }

  #end(why: string): void {
    this.#ended ??= why;
    this.#settle();
  }

  #read(text: string): void {
    const all = this.#rest + text;
    let from = 0;
    for (let end = all.indexOf('\n'); end !== -1; end = all.indexOf('\n', from)) {
      const event = all.slice(from, end);
      if (this.#isMeant(event)) this.#seen.add(`${between(event, '"kcp.io/cluster":"')}/${between(event, '"name":"')}`);
      from = end + 1;
    }
    this.#rest = all.slice(from);
    this.#settle();
  }

  #settle(): void {
    for (const { count, resolve } of this.#waiting) if (this.#ended !== undefined || this.#seen.size >= count) resolve();
  }
}

function between(text: string, start: string): string {
  const at = text.indexOf(start) + start.length;
  return text.slice(at, text.indexOf('"', at));
}
