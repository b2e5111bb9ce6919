/** Lets one at a time work in a workspace: two who bind at once must not both find a resource free. */
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
