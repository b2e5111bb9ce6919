import { nodeNamespace } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';

export type Lease = KubeObject & { readonly spec?: { readonly renewTime?: string } };

/**
 * Remembers when the Leases of nodes changed, by our own clock: those of the machines may be wrong. After a start nothing counts as old: silence is
 * measured from then.
 */
export class LeaseTimes {
  readonly #seen = new Map<string, { readonly renewTime: string | undefined; readonly at: number }>();
  readonly #now: () => number;
  readonly #start: number;

  constructor(now: () => number) {
    this.#now = now;
    this.#start = now();
  }

  /** Takes a change of a Lease. Writes that do not renew it say nothing about the agent. */
  see({ metadata: { name = '', namespace }, spec }: Lease): void {
    if (namespace !== nodeNamespace(name)) return;
    if (this.#seen.has(name) && this.#seen.get(name)!.renewTime === spec?.renewTime) return;
    this.#seen.set(name, { renewTime: spec?.renewTime, at: this.#now() });
  }

  forget(node: string): void {
    this.#seen.delete(node);
  }

  /** How long nothing was heard of the agent of a node, in milliseconds; at least so long. */
  silence(node: string): number {
    return this.#now() - (this.#seen.get(node)?.at ?? this.#start);
  }
}
