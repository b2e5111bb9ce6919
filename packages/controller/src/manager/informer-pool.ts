import { type Client, type FactoryOptions, InformerFactory } from '@capstan/client';

/** Informers that a user holds until it disposes of them. */
export interface HeldInformers extends AsyncDisposable {
  readonly informers: InformerFactory;
}

interface Entry {
  readonly factory: InformerFactory;
  users: number;
}

/**
 * The informers of each client, shared by all users of the same client: other accounts may not be allowed to read the same objects. They end with
 * their last user.
 */
export class InformerPool {
  readonly #entries = new Map<Client, Entry>();
  readonly #optionsOf: (client: Client) => FactoryOptions;
  #started = false;

  constructor(optionsOf: (client: Client) => FactoryOptions) {
    this.#optionsOf = optionsOf;
  }

  start(): void {
    this.#started = true;
    for (const { factory } of this.#entries.values()) factory.start();
  }

  hold(client: Client): HeldInformers {
    const entry = this.#entryOf(client);
    entry.users++;
    let isHeld = true;
    return {
      informers: entry.factory.part(),
      [Symbol.asyncDispose]: async () => {
        if (!isHeld) return;
        isHeld = false;
        if (--entry.users > 0) return;
        this.#entries.delete(client);
        await entry.factory[Symbol.asyncDispose]();
      },
    };
  }

  #entryOf(client: Client): Entry {
    const known = this.#entries.get(client);
    if (known !== undefined) return known;
    const made: Entry = { factory: new InformerFactory(this.#optionsOf(client)), users: 0 };
    if (this.#started) made.factory.start();
    this.#entries.set(client, made);
    return made;
  }
}
