/** How many characters may be sent to watches at once, in each turn of the event loop. More than that waits for the turns of tenants. */
export class Allowance {
  readonly most: number;
  #left: number;
  #isRefillDue = false;

  constructor(most: number) {
    this.most = most;
    this.#left = most;
  }

  take(characters: number): boolean {
    if (characters > this.#left) return false;
    this.#left -= characters;
    if (!this.#isRefillDue) {
      this.#isRefillDue = true;
      setImmediate(this.#refill);
    }
    return true;
  }

  readonly #refill = (): void => {
    this.#isRefillDue = false;
    this.#left = this.most;
  };
}
