/** Runs one piece of work per workspace at a time: of two bindings at once, only one may find a resource free. */
export class Locks {
  readonly #tails = new Map<string, Promise<unknown>>();

  async hold<T>(cluster: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(cluster);
    const mine = (async () => {
      await before?.catch(() => {});
      return work();
    })();
    this.#tails.set(cluster, mine);
    try {
      return await mine;
    } finally {
      if (this.#tails.get(cluster) === mine) this.#tails.delete(cluster);
    }
  }
}
