import type { KubeObject } from '@capstan/machinery';

interface Pending {
  readonly revision: number;
  /** The object was due while its copy was behind. */
  isDue: boolean;
}

/**
 * Remembers what a controller wrote until the local copy has it, so that the reconciler does not decide from the state before its own write. Holds only
 * keys whose write is still on its way.
 */
export class OwnWrites {
  readonly #pending = new Map<string, Pending>();

  /** Notes the server's answer to a write. `copy` is the object as the local copy has it now. */
  note(key: string, written: KubeObject, copy: KubeObject | undefined): void {
    // A write that removed the last finalizer never arrives as an update.
    if (written.metadata.deletionTimestamp !== undefined || copy === undefined) return;
    const revision = revisionOf(written);
    if (revision > revisionOf(copy)) this.#pending.set(key, { revision, isDue: this.#pending.get(key)?.isDue ?? false });
  }

  /** Whether the copy is older than the controller's own last write. If so, `arrives` will say when the object can be reconciled. */
  isBehind(key: string, copy: KubeObject | undefined): boolean {
    const pending = this.#pending.get(key);
    if (pending === undefined) return false;
    if (copy !== undefined && revisionOf(copy) < pending.revision) {
      pending.isDue = true;
      return true;
    }
    this.#pending.delete(key);
    return false;
  }

  /** Notes that the copy has changed; undefined if the object was deleted. Returns whether the object became due while its copy was behind. */
  arrives(key: string, copy: KubeObject | undefined): boolean {
    const pending = this.#pending.get(key);
    if (pending === undefined || (copy !== undefined && revisionOf(copy) < pending.revision)) return false;
    this.#pending.delete(key);
    return pending.isDue;
  }
}

/** NaN, which is neither smaller nor larger than any number, for servers whose versions are not numbers. */
export function revisionOf({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion);
}
