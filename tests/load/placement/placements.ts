import { FleetIndex, type PlacementRequest } from '@capstan/fleet';

/** Places, releases, and checks on its own that nothing is booked twice. */
export class Placements {
  readonly index = new FleetIndex();
  readonly #live: { readonly owner: string; readonly nodes: readonly string[]; readonly devices: readonly string[] }[] = [];
  readonly #ownerOf = new Map<string, string>();
  #owners = 0;
  doubleBookings = 0;

  get gpusInUse(): number {
    return this.#ownerOf.size;
  }

  get count(): number {
    return this.#live.length;
  }

  /** False if there was no answer. */
  place(request: PlacementRequest): boolean {
    const placement = this.index.find(request);
    if (placement === undefined) return false;
    const owner = `allocation-${this.#owners++}`;
    for (const part of placement.parts) this.index.book(owner, part);
    const devices = placement.parts.flatMap((part) => part.devices);
    for (const device of devices) {
      if (this.#ownerOf.has(device)) this.doubleBookings++;
      this.#ownerOf.set(device, owner);
    }
    this.#live.push({ owner, nodes: placement.parts.map(({ node }) => node), devices });
    return true;
  }

  release(at: number): void {
    const released = this.#live[at];
    const last = this.#live.pop();
    if (released === undefined || last === undefined) return;
    if (released !== last) this.#live[at] = last;
    for (const node of released.nodes) this.index.free(released.owner, node);
    for (const device of released.devices) this.#ownerOf.delete(device);
  }
}
