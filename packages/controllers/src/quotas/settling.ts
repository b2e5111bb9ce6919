import { compareQuantities, type KubeObject, readAmounts } from '@capstan/machinery';

/**
 * When the usage of each quota was last raised. A server charges a quota before it stores the object, so what was raised a moment ago may be for an object that
 * nobody can see yet: it must not be taken back. What stays raised without an object is taken back when it has settled.
 */
export class Settling {
  readonly #raised = new Map<string, Map<string, number>>();
  readonly #settles: number;
  readonly #now: () => number;
  readonly #began: number;

  /** In milliseconds, of a monotonic clock. */
  constructor(settles: number, now: () => number) {
    this.#settles = settles;
    this.#now = now;
    this.#began = now();
  }

  /** Takes note of what a new version of a quota has raised. */
  observe(key: string, old: KubeObject, quota: KubeObject): void {
    const before = usedOf(old);
    for (const [name, amount] of usedOf(quota)) {
      const was = before.get(name);
      if (was === undefined || compareQuantities(amount, was) <= 0) continue;
      let raised = this.#raised.get(key);
      if (raised === undefined) this.#raised.set(key, (raised = new Map()));
      raised.set(name, this.#now());
    }
  }

  forget(key: string): void {
    this.#raised.delete(key);
  }

  /** How long to wait, in milliseconds, before this may be lowered. What was raised before we began is not known. */
  wait(key: string, name: string): number {
    const raised = this.#raised.get(key);
    const at = raised?.get(name) ?? this.#began;
    const left = at + this.#settles - this.#now();
    if (left > 0) return left;
    raised?.delete(name);
    if (raised?.size === 0) this.#raised.delete(key);
    return 0;
  }
}

function usedOf(quota: KubeObject): ReturnType<typeof readAmounts> {
  return readAmounts((quota['status'] as { used?: unknown } | undefined)?.used);
}
