/** More workspaces than are busy at a time. Others are worked out again when somebody comes back. */
const defaultCapacity = 4_096;

/** What was worked out for each workspace, for as long as what it was made of is the same. Workspaces that are gone do not stay in it for ever. */
export class ByWorkspace<Value> {
  readonly #capacity: number;
  readonly #known = new Map<string, Value>();
  #state = -1;

  constructor(capacity = defaultCapacity) {
    this.#capacity = capacity;
  }

  /** `state` is another number whenever something that values are made of has changed, in any workspace. */
  get(cluster: string, state: number, make: (cluster: string) => Value): Value {
    if (state !== this.#state || this.#known.size > this.#capacity) {
      this.#known.clear();
      this.#state = state;
    }
    let value = this.#known.get(cluster);
    if (value === undefined) this.#known.set(cluster, (value = make(cluster)));
    return value;
  }
}
