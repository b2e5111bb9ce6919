interface Queue<Thing> {
  readonly things: Thing[];
  first: number;
}

/** Things of one tenant that wait. Its users take turns, and those of one user stay in their order. */
export class ByUser<Thing> {
  /** Whose turn it is first. */
  readonly #queues = new Map<string, Queue<Thing>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(user: string, thing: Thing): void {
    this.#size++;
    const queue = this.#queues.get(user);
    if (queue === undefined) this.#queues.set(user, { things: [thing], first: 0 });
    else queue.things.push(thing);
  }

  shift(): Thing | undefined {
    for (const [user, queue] of this.#queues) {
      this.#size--;
      const thing = queue.things[queue.first++]!;
      if (queue.first === queue.things.length || this.#queues.size > 1) this.#queues.delete(user);
      if (queue.first === queue.things.length) return thing;
      if (queue.first > 64 && queue.first * 2 > queue.things.length) {
        queue.things.splice(0, queue.first);
        queue.first = 0;
      }
      this.#queues.set(user, queue);
      return thing;
    }
    return undefined;
  }
}
