import type { Connection as Address } from '@capstan/testbed';
import { Latencies } from '../measure/latencies.ts';
import { Connection, secureContext } from './connection.ts';

export interface Load {
  readonly clients: number;
  /** At most this many requests… */
  readonly count: number;
  /** …and at most this long, in seconds. */
  readonly seconds: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly errors: number;
  readonly latencies: Latencies;
  /** The response to the first failed request. */
  readonly firstError: string | undefined;
}

/** Connections to one server, opened before the clock starts. */
export class Pool implements Disposable {
  readonly address: Address;
  readonly connections: readonly Connection[];
  #onEnd: (error: Error) => void = () => {};

  private constructor(address: Address, connections: readonly Connection[]) {
    this.address = address;
    this.connections = connections;
  }

  static async open(address: Address, clients: number): Promise<Pool> {
    const context = secureContext(address);
    const connections: Connection[] = [];
    const pool = new Pool(address, connections);
    const onEnd = (error: Error): void => pool.#onEnd(error);
    // Some at a time: a thousand handshakes at once measure the handshake queue, not the server.
    while (connections.length < clients) {
      const batch = Math.min(50, clients - connections.length);
      connections.push(...(await Promise.all(Array.from({ length: batch }, () => Connection.open(address, context, onEnd)))));
    }
    return pool;
  }

  /** Each connection sends the next request as soon as the last was answered, until the count or the time is used up. */
  run(load: Load, request: (index: number) => string): Promise<LoadResult> {
    return new Promise((resolve) => {
      const latencies = new Latencies(load.count);
      const began = performance.now();
      const end = began + load.seconds * 1000;
      let sent = 0;
      let answered = 0;
      let errors = 0;
      let active = this.connections.length;
      let firstError: string | undefined;
      const finish = (): void => {
        if (--active > 0) return;
        clearTimeout(limit);
        resolve({ requests: answered, seconds: (performance.now() - began) / 1000, errors, latencies, firstError });
      };
      // A server that stops answering must not hang the run.
      const limit = setTimeout(
        () => {
          errors += sent - answered;
          firstError ??= 'no answer';
          active = 1;
          finish();
        },
        load.seconds * 1000 + 30_000,
      );
      this.#onEnd = (error) => {
        errors++;
        firstError ??= error.message;
        finish();
      };
      const next = (connection: Connection): void => {
        const index = sent;
        const start = performance.now();
        if (index >= load.count || start >= end) {
          finish();
          return;
        }
        sent++;
        connection.send(request(index), (status) => {
          answered++;
          latencies.add(performance.now() - start);
          if (status >= 400) {
            errors++;
            firstError ??= `HTTP ${status}`;
          }
          next(connection);
        });
      };
      for (const connection of this.connections) next(connection);
    });
  }

  [Symbol.dispose](): void {
    this.#onEnd = () => {};
    for (const connection of this.connections) connection.close();
  }
}
