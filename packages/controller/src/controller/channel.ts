/**
 * Events from outside of the API: a machine that answered, a timer, a message. `.receives` of a controller turns them into reconciles. An event that is
 * sent while no controller listens is lost, which is harmless: a controller reconciles every object when it starts.
 */
export class Channel<E> {
  readonly #listeners = new Set<(event: E) => void>();

  send(event: E): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** Calls `listener` with each event from now on. Disposing ends it. */
  listen(listener: (event: E) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}
