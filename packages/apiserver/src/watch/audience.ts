import type { CacheEvent } from '../cache/event-ring.ts';
import type { CacheListener } from '../cache/watch-cache.ts';
import type { WatchStream } from './stream.ts';
import type { View } from './view.ts';

export interface Group {
  readonly view: View;
  /** All watches of this view, including those that are still catching up. */
  readonly streams: Set<WatchStream>;
}

/** The groups with the same scope: everything, a workspace, or a namespace of one. */
interface Seats {
  readonly groups: Map<string, Group>;
  /** The events of the current batch in this scope. */
  due: CacheEvent[] | undefined;
}

/**
 * The watchers of one resource, by scope. An event is delivered only to watchers of its own scope, so its cost does not depend on
 * the number of watchers in other workspaces.
 */
export class Audience implements CacheListener {
  readonly #places = new Map<string, Seats>();

  /** The group with this key; `make` creates its view if it does not exist yet. */
  group(prefix: string, key: string, make: () => View): Group {
    let seats = this.#places.get(prefix);
    if (seats === undefined) this.#places.set(prefix, (seats = { groups: new Map(), due: undefined }));
    let group = seats.groups.get(key);
    if (group === undefined) seats.groups.set(key, (group = { view: make(), streams: new Set() }));
    return group;
  }

  /** Removes a group that has no members left. */
  remove({ view }: Group): void {
    const seats = this.#places.get(view.prefix);
    if (seats?.groups.delete(view.key) === true && seats.groups.size === 0) this.#places.delete(view.prefix);
  }

  /** All groups whose scope starts with the prefix. */
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
