/** Things that take turns: each that was asked goes to the end, as long as it stays. */
export class Turns<Thing> {
  #queue: Thing[] = [];
  #first = 0;

  push(thing: Thing): void {
    this.#queue.push(thing);
  }

  /** Asks each thing once, at most, until one answers. `stays` is read after `found`. */
  next<Found>(ask: (thing: Thing) => { readonly found: Found | undefined; readonly stays: boolean }): Found | undefined {
    for (let left = this.#queue.length - this.#first; left > 0; left--) {
      const thing = this.#queue[this.#first++]!;
      const { found, stays } = ask(thing);
      if (stays) this.#queue.push(thing);
      if (this.#first > 1024 && this.#first * 2 > this.#queue.length) {
        this.#queue = this.#queue.slice(this.#first);
        this.#first = 0;
      }
      if (found !== undefined) return found;
    }
    return undefined;
  }
}
