/**
 * A question whose answer must be no older than the moment it was asked. Those who ask while one is on its way share the next: the one on its way may
 * have been answered before they asked.
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
