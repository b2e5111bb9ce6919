import type { CacheEvent } from './event-ring.ts';
import type { ResourceCache } from './watch-cache.ts';

/** A wildcard at the end of a resource name: the resource under every identity. */
const anyIdentity = '*';

export const isUnion = (name: string): boolean => name.endsWith(anyIdentity);

/** Whether a name matches a stored resource: it is equal, or matches it under every identity. */
export function means(name: string, stored: string): boolean {
  if (!isUnion(name)) return name === stored;
  const base = name.slice(0, -anyIdentity.length);
  return stored === base || (stored.startsWith(base) && stored[base.length] === ':');
}

/** An event, and the stored name of its resource. */
export interface StoredEvent {
  readonly stored: string;
  readonly event: CacheEvent;
}

/** Resources stored under several names, presented as one. Built on first use and kept up to date from then on. */
export class Unions {
  readonly #made = new Map<string, ResourceCache>();

  get isEmpty(): boolean {
    return this.#made.size === 0;
  }

  get(name: string): ResourceCache | undefined {
    return this.#made.get(name);
  }

  /** `union` must be empty. */
  add(union: ResourceCache, parts: Iterable<readonly [string, ResourceCache]>): ResourceCache {
    fill(union, parts);
    this.#made.set(union.name, union);
    return union;
  }

  /** Rebuilds the unions after the whole cache was reloaded. */
  reload(parts: ReadonlyMap<string, ResourceCache>, revision: number): void {
    for (const union of this.#made.values()) {
      fill(union, parts);
      union.ring.startAt(revision);
      union.generation++;
    }
  }

  /** Applies one commit in order: events of different parts must not overtake each other. */
  apply(batch: readonly StoredEvent[]): void {
    for (const union of this.#made.values()) {
      const events: CacheEvent[] = [];
      for (const { stored, event } of batch) {
        if (!means(union.name, stored)) continue;
        if (event.type === 'DELETED') union.entries.delete(event.entry.key);
        else union.entries.set(event.entry);
        union.ring.push(event);
        union.generation++;
        events.push(event);
      }
      if (events.length > 0) for (const listener of union.listeners) listener.changed(events);
    }
  }
}

function fill(union: ResourceCache, parts: Iterable<readonly [string, ResourceCache]>): void {
  union.clear();
  for (const [name, { entries }] of parts) {
    if (!means(union.name, name)) continue;
    entries.walk('', '\u{10ffff}', (entry) => {
      union.entries.set(entry);
      return true;
    });
  }
}
