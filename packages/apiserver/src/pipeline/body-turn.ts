import type { User } from '@capstan/api';
import type { Client, Clients } from '../limits/clients.ts';
import type { InFlight } from '../limits/in-flight.ts';

export interface BodyTurnOptions {
  readonly clients: Clients;
  readonly inFlight: InFlight;
  readonly user: User;
  readonly client: Client;
}

/**
 * In milliseconds: how long a large request keeps the others of its tenant waiting. Its work is done by then; it may wait for a webhook that
 * sends a large request itself.
 */
const largeFor = 1_000;

/** The turn and the place of a request whose body has arrived. */
export class BodyTurn {
  readonly #options: BodyTurnOptions;
  #large: NodeJS.Timeout | undefined;
  #isRunning = false;

  constructor(options: BodyTurnOptions) {
    this.#options = options;
  }

  /** Resolves when the request may run; undefined if it may at once. */
  take(bytes: number): undefined | Promise<void> {
    const { clients, client } = this.#options;
    if (clients.isLarge(bytes)) return this.#takeLarge();
    const turn = clients.start(client);
    return turn === undefined ? this.#enter() : turn.then(() => this.#enter());
  }

  end(): void {
    const { client, inFlight } = this.#options;
    if (this.#isRunning) inFlight.leave(client.line, 'mutating');
    this.#endLarge();
  }

  #endLarge(): void {
    if (this.#large === undefined) return;
    clearTimeout(this.#large);
    this.#large = undefined;
    this.#options.clients.endLarge(this.#options.client);
  }

  async #takeLarge(): Promise<void> {
    const { clients, client } = this.#options;
    await clients.startLarge(client);
    this.#large = setTimeout(() => this.#endLarge(), largeFor).unref();
    await this.#enter();
  }

  #enter(): undefined | Promise<void> {
    const { inFlight, client, user } = this.#options;
    const wait = inFlight.enter(client.line, user, 'mutating');
    if (wait === undefined) this.#isRunning = true;
    return wait?.then(() => {
      this.#isRunning = true;
    });
  }
}
