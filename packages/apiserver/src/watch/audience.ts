import type { CacheEvent } from '../cache/event-ring.ts';
import type { CacheListener } from '../cache/watch-cache.ts';
import type { WatchStream } from './stream.ts';
import type { View } from './view.ts';

export interface Group {
  readonly view: View;
  /** All that watch through this view, also those that still catch up. */
  readonly streams: Set<WatchStream>;
}

/** The groups that look at the same place: everywhere, at a workspace, or at a namespace of one. */
interface Seats {
  readonly groups: Map<string, Group>;
  /** What of the batch at hand is of this place. */
  due: CacheEvent[] | undefined;
}

/**
 * Who watches one resource, by where they look. An event goes only to those at its own place, so that it costs the same however many watch in other
 * workspaces.
 */
export class Audience implements CacheListener {
  readonly #places = new Map<string, Seats>();

  /** The group with this key; `make` makes its view when there is none yet. */
  group(prefix: string, key: string, make: () => View): Group {
    let seats = this.#places.get(prefix);
    if (seats === undefined) this.#places.set(prefix, (seats = { groups: new Map(), due: undefined }));
    let group = seats.groups.get(key);
    if (group === undefined) seats.groups.set(key, (group = { view: make(), streams: new Set() }));
    return group;
  }

  /** Nobody is left in the group. */
  remove({ view }: Group): void {
    const seats = this.#places.get(view.prefix);
    if (seats?.groups.delete(view.key) === true && seats.groups.size === 0) this.#places.delete(view.prefix);
  }

  /** All groups whose place begins so. */
  *below(prefix: string): Generator<Group> {
    for (const [place, { groups }] of this.#places) if (place.startsWith(prefix)) yield* groups.values();
  }

  changed(events: readonly CacheEvent[]): void {
    if (this.#places.size === 0) return;
    const everywhere = this.#places.get('');
    if (everywhere !== undefined) publish(everywhere, events);
    const concerned: Seats[] = [];
    for (const event of events) {
      const { key } = event.entry;
      const workspace = key.indexOf('/') + 1;
      this.#note(key.slice(0, workspace), event, concerned);
      this.#note(key.slice(0, key.indexOf('/', workspace) + 1), event, concerned);
    }
    for (const seats of concerned) {
      const { due } = seats;
      seats.due = undefined;
      publish(seats, due!);
    }
  }

  #note(place: string, event: CacheEvent, concerned: Seats[]): void {
    const seats = this.#places.get(place);
    if (seats === undefined) return;
    if (seats.due === undefined) {
      seats.due = [event];
      concerned.push(seats);
    } else seats.due.push(event);
  }
}

function publish({ groups }: Seats, events: readonly CacheEvent[]): void {
  for (const { view } of groups.values()) view.publish(events);
}
