import type { LogPosition } from './scan.ts';

/** An event that matches a query. */
export interface FoundEvent {
  /** As JSON. */
  readonly text: string;
  /** When it happened, in milliseconds since 1970. It never grows from one event of a page to the next, also where a log is not quite in order. */
  readonly time: number;
  /** Where to go on after it. */
  readonly after: LogPosition;
}

/** The events that one read of the log of one server found, newest first. */
export interface LogPage {
  readonly items: readonly FoundEvent[];
  /** Where the page began; undefined if there is no log. */
  readonly from?: LogPosition | undefined;
  /** Where to go on, and the time of the first line there; undefined if everything was read. */
  readonly rest?: { readonly at: LogPosition; readonly time: number } | undefined;
}

/** Where to go on in the log of each server, by name. Servers that did not answer stay `missing`: their events would come too late. */
export type Places = ReadonlyMap<string, LogPosition | 'missing'>;

/**
 * The newest events of several logs. It ends before an event that could be older than one that a server has not read yet, so that pages in a row are in
 * order too.
 */
export function mergePages(pages: ReadonlyMap<string, LogPage>, limit: number): { items: FoundEvent[]; places: Map<string, LogPosition> } {
  const taken = new Map([...pages.keys()].map((server) => [server, 0]));
  const items: FoundEvent[] = [];
  while (items.length < limit) {
    let next: { server: string; item: FoundEvent } | undefined;
    let unread = Number.NEGATIVE_INFINITY;
    for (const [server, page] of pages) {
      const item = page.items[taken.get(server)!];
      if (item === undefined) unread = Math.max(unread, page.rest?.time ?? Number.NEGATIVE_INFINITY);
      else if (next === undefined || item.time > next.item.time) next = { server, item };
    }
    if (next === undefined || next.item.time < unread) break;
    items.push(next.item);
    taken.set(next.server, taken.get(next.server)! + 1);
  }
  const places = new Map<string, LogPosition>();
  for (const [server, page] of pages) {
    const count = taken.get(server)!;
    const at = count === page.items.length ? page.rest?.at : count === 0 ? page.from : page.items[count - 1]!.after;
    if (at !== undefined) places.set(server, at);
  }
  return { items, places };
}
