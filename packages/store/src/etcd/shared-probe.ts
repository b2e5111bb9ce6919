/**
 * A request whose response must not be older than the call. Calls made while a request is pending share the next one: the pending one may
 * have been answered before they were made.
 */
export class SharedProbe<Answer> {
  readonly #send: () => Promise<Answer>;
  #inFlight: Promise<Answer> | undefined;
  #next: Promise<Answer> | undefined;

  constructor(send: () => Promise<Answer>) {
    this.#send = send;
  }

  ask(): Promise<Answer> {
    if (this.#inFlight === undefined) return this.#start();
    this.#next ??= this.#after(this.#inFlight);
    return this.#next;
  }

  async #after(current: Promise<Answer>): Promise<Answer> {
    await current.catch(() => undefined);
    this.#next = undefined;
    return this.#start();
  }

  #start(): Promise<Answer> {
    const probe = this.#send().finally(() => {
      if (this.#inFlight === probe) this.#inFlight = undefined;
    });
    this.#inFlight = probe;
    return probe;
  }
}
