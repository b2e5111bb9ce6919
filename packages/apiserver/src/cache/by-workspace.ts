import type { ClusterId } from '@capstan/api';

/** More workspaces than are active at a time. Values of the others are computed again on their next use. */
const defaultCapacity = 4_096;

/** A value per workspace, kept for as long as its inputs do not change. Deleted workspaces are eventually evicted. */
export class ByWorkspace<Value> {
  readonly #capacity: number;
  readonly #known = new Map<string, Value>();
  #state = -1;

  constructor(capacity = defaultCapacity) {
    this.#capacity = capacity;
  }

  /** `state` must change whenever an input of the values changes, in any workspace. */
  get(cluster: ClusterId, state: number, make: (cluster: ClusterId) => Value): Value {
    if (state !== this.#state || this.#known.size > this.#capacity) {
      this.#known.clear();
      this.#state = state;
    }
    let value = this.#known.get(cluster);
    if (value === undefined) this.#known.set(cluster, (value = make(cluster)));
    return value;
  }
}
