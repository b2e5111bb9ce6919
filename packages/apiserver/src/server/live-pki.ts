import type { Pki } from '@capstan/pki';

/** The keys and certificates of the server, which are replaced while it runs. */
export class LivePki {
  #current: Pki;
  readonly #listeners: ((pki: Pki) => void)[] = [];

  constructor(pki: Pki) {
    this.#current = pki;
  }

  get current(): Pki {
    return this.#current;
  }

  readonly replace = (pki: Pki): void => {
    this.#current = pki;
    for (const listener of this.#listeners) listener(pki);
  };

  /** A value made of them, made anew when they are replaced. */
  derived<T>(make: (pki: Pki) => T): () => T {
    let value = make(this.#current);
    this.onReplaced((pki) => (value = make(pki)));
    return () => value;
  }

  onReplaced(listener: (pki: Pki) => void): void {
    this.#listeners.push(listener);
  }
}
