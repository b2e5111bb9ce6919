import { applySchemaDefaults, type JsonObject, type ObjectType, type StatusError, status } from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import type { CacheEvent } from '../cache/event-ring.ts';
import type { Filter } from '../registry/filter.ts';
import { laterEntry, type Resource, readable } from '../registry/resource.ts';
import { frames, type Shaper } from '../registry/shape.ts';
import type { Allowance } from './allowance.ts';
import type { WatchStream } from './stream.ts';

/** Members that are handled at once, however little is sent to them. */
const mostMembers = 256;

export interface Transition {
  readonly type: CacheEvent['type'];
  readonly entry: CacheEntry;
}

export interface ViewOptions {
  readonly resource: Resource;
  readonly shaper: Shaper;
  readonly filter: Filter;
  readonly key: string;
  readonly allowance: Allowance;
}

/**
 * The part of a resource that a group of clients watches: which objects, and in which form. Clients with the same view receive
 * the same bytes.
 */
export class View {
  readonly resource: Resource;
  readonly shaper: Shaper;
  readonly key: string;
  readonly #filter: Filter;
  readonly #allowance: Allowance;
  readonly #members = new Set<WatchStream>();

  constructor({ resource, shaper, filter, key, allowance }: ViewOptions) {
    this.key = key;
    this.resource = resource;
    this.shaper = shaper;
    this.#filter = filter;
    this.#allowance = allowance;
  }

  /** The common prefix of the keys it includes. */
  get prefix(): string {
    return this.#filter.prefix;
  }

  /** Whether the view goes through something whose name starts with `name`. */
  isThrough(name: string): boolean {
    return this.#filter.through.some((one) => one.startsWith(name));
  }

  has(member: WatchStream): boolean {
    return this.#members.has(member);
  }

  join(member: WatchStream): void {
    this.#members.add(member);
  }

  leave(member: WatchStream): void {
    this.#members.delete(member);
  }

  /** Sends the events that the view includes to every live member. Events outside its scope may already have been left out. */
  publish(events: readonly CacheEvent[]): void {
    if (this.#members.size === 0) return;
    // All members have received everything earlier.
    const before = events[0]!.revision - 1;
    if (this.resource.storage.convert?.ahead !== undefined) {
      // Each member fetches the events itself, after they are converted.
      for (const member of [...this.#members]) member.fetchAfter(before);
      return;
    }
    // Tables and objects copied into many workspaces are serialized per member, and may fail for one of them.
    const isShared = !this.shaper.key.startsWith('table') && this.shaper.copies === undefined;
    if (!this.#allowance.take(charactersOf(events) * this.#members.size)) return this.#publishLater(events, isShared);
    if (!isShared) {
      for (const member of this.#members) member.deliverEvents(events, before);
      return;
    }
    const bytes = this.#encoded(events);
    if (bytes.length > 0) for (const member of this.#members) member.deliver(bytes, before);
  }

  #encoded(events: readonly CacheEvent[]): Buffer {
    let chunk = '';
    for (const event of events) {
      const seen = this.transition(event);
      if (seen !== undefined) chunk += frames(this.shaper, seen, false);
    }
    return Buffer.from(chunk);
  }

  /** Encrypting a large event for many members at once would block everyone, so a few of them get it in each turn of their tenant. */
  #publishLater(events: readonly CacheEvent[], isShared: boolean): void {
    const members = [...this.#members];
    const last = events.at(-1)!.revision;
    for (const member of members) member.waitAt(events[0]!.revision - 1);
    let bytes: Buffer | undefined;
    let at = 0;
    const next = (): void => {
      bytes ??= isShared ? this.#encodedIfPossible(events) : Buffer.alloc(0);
      const size = isShared ? bytes.length : charactersOf(events);
      const end = Math.min(members.length, at + Math.min(mostMembers, Math.ceil(this.#allowance.most / (size + 1))));
      for (; at < end; at++) {
        if (bytes.length === 0) members[at]!.catchUp();
        else members[at]!.deliverLate(bytes, last);
      }
      if (at < members.length) members[at]!.inTurn(next);
    };
    members[0]!.inTurn(next);
  }

  /** Without bytes, each member finds out for itself why there are none. */
  #encodedIfPossible(events: readonly CacheEvent[]): Buffer {
    try {
      return this.#encoded(events);
    } catch {
      return Buffer.alloc(0);
    }
  }

  /** An event as seen through the selector: an object that stops matching is deleted for this client, one that starts matching is added. */
  transition(event: CacheEvent): Transition | undefined {
    const filter = this.#filter;
    if (!event.entry.key.startsWith(filter.prefix)) return undefined;
    if (filter.selects === undefined) return event;
    const before = event.previous !== undefined && filter.selects(event.previous);
    if (event.type === 'DELETED') return before ? event : undefined;
    const after = filter.selects(event.entry);
    if (after) return { type: before || event.previous === undefined ? event.type : (filter.enters ?? 'ADDED'), entry: event.entry };
    if (!before) return undefined;
    const previous = event.previous!;
    return { type: 'DELETED', entry: laterEntry(previous, event.revision) };
  }

  /** Resolves when the events are converted; undefined if they need no conversion. */
  ready(events: readonly CacheEvent[]): Promise<void> | undefined {
    if (this.resource.storage.convert?.ahead === undefined) return undefined;
    // Objects of the same resource outside the prefix must not reach this converter.
    const { prefix } = this.#filter;
    const own = events.filter(({ entry }) => entry.key.startsWith(prefix));
    return readable(
      this.resource,
      own.flatMap(({ entry, previous }) => (previous === undefined ? [entry] : [entry, previous])),
    );
  }

  bookmark(revision: number): string {
    return bookmarkFrame(this.resource, this.shaper, revision, false);
  }

  tooOld(revision: number, current: number): string {
    return JSON.stringify(tooOld(revision, current).status);
  }
}

function charactersOf(events: readonly CacheEvent[]): number {
  let total = 0;
  for (const { entry } of events) total += entry.text.length;
  return total;
}

export function tooOld(revision: number, current: number): StatusError {
  return status.expired(`too old resource version: ${revision} (${current})`);
}

const emptyParts = new WeakMap<ObjectType, string>();

/** The fields that an empty object of the kind is printed with. */
function emptyPart({ type, custom }: Resource): string {
  if (custom !== undefined) return '';
  let text = emptyParts.get(type);
  if (text === undefined) {
    const empty: JsonObject = {};
    applySchemaDefaults(empty, type);
    const fields = Object.entries(empty).filter(([name]) => name !== 'metadata');
    emptyParts.set(type, (text = fields.map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`).join('')));
  }
  return text;
}

export function bookmarkFrame(resource: Resource, shaper: Shaper, revision: number, initialEventsEnd: boolean): string {
  const { kind, groupVersion } = resource;
  const meta = `{"resourceVersion":"${revision}"${initialEventsEnd ? ',"annotations":{"k8s.io/initial-events-end":"true"}' : ''}}`;
  if (shaper.key.startsWith('table')) {
    const row = `{"cells":[],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":${meta}}}`;
    return `{"type":"BOOKMARK","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"${revision}"},"columnDefinitions":null,"rows":[${row}]}}\n`;
  }
  if (shaper.key.startsWith('partial')) {
    return `{"type":"BOOKMARK","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":${meta}}}\n`;
  }
  return `{"type":"BOOKMARK","object":{"kind":"${kind}","apiVersion":"${groupVersion}","metadata":${meta}${emptyPart(resource)}}}\n`;
}
