import { setImmediate } from 'node:timers/promises';
import { type GroupResource, invalidOptions, parseListOptions, StatusError, validateListOptions } from '@capstan/machinery';
import type { ResourceCache, WatchCache } from '../cache/watch-cache.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Format } from '../http/negotiate.ts';
import { protobufFrames, protobufWatchType } from '../http/protobuf.ts';
import { filterOf } from '../registry/filter.ts';
import { fresh, isSeen, parseRevision, selectable } from '../registry/list.ts';
import { Pace } from '../registry/pace.ts';
import { type Resource, readable } from '../registry/resource.ts';
import type { RequestInfo } from '../registry/scope.ts';
import type { Shaper } from '../registry/shape.ts';
import { pageNow } from '../registry/snapshot.ts';
import { Allowance } from './allowance.ts';
import { Audience } from './audience.ts';
import { readHistory } from './history.ts';
import { WatchStream } from './stream.ts';
import { bookmarkFrame, tooOld, View } from './view.ts';

const bookmarkEvery = 60_000;
/** In milliseconds, for each watch: a server with many of them sends bookmarks less often, up to every two minutes. Clients of ours give up a watch after two and a half. */
const bookmarkShare = 100;
/** How long before its end a watch receives a last bookmark, in milliseconds. */
const lastMark = 2_000;
/** Without a timeout from the client, a watch ends after one to two times this, so that clients rebalance across servers. */
const minTimeout = 1_800_000;

/** Characters of events that are sent at once in each turn of the event loop: some three milliseconds of work. */
const mostAtOnce = 2 << 20;

/** All watches of the server, grouped by view. */
export class WatchHub implements Disposable {
  readonly #cache: WatchCache;
  readonly #audiences = new Map<ResourceCache, Audience>();
  readonly #streams = new Set<WatchStream>();
  readonly #allowance = new Allowance(mostAtOnce);
  readonly #timer: NodeJS.Timeout;

  constructor(cache: WatchCache) {
    this.#cache = cache;
    this.#timer = setInterval(() => this.#sendBookmarks(), 5_000);
    this.#timer.unref();
  }

  get count(): number {
    return this.#streams.size;
  }

  async watch(
    exchange: Exchange,
    resource: Resource,
    info: RequestInfo,
    { shaper, format }: { shaper: Shaper; format: Format },
  ): Promise<void> {
    const options = parseListOptions(info.query);
    const errors = validateListOptions({ ...options, watch: true });
    if (errors.length > 0) throw invalidOptions('ListOptions', errors);
    const revision = parseRevision(options.resourceVersion ?? '', (message) => new StatusError({ code: 500, message }));
    if (revision && revision < (resource.origin?.since ?? 0)) throw tooOld(revision, this.#cache.revision);
    const filter = filterOf(resource, info);
    const sendInitial = options.sendInitialEvents === true || (options.sendInitialEvents === undefined && !revision);
    if (revision === undefined || (options.sendInitialEvents === true && revision === 0)) await fresh(this.#cache);
    else if (revision > 0 && options.sendInitialEvents === true) await this.#cache.atLeast(revision);
    // It comes from another server, or from before a backup was restored, which the client has to find out.
    else if (revision > this.#cache.revision && !(await isSeen(this.#cache, revision))) throw tooOld(revision, this.#cache.revision);
    const pace = new Pace(exchange.client);
    const selecting = selectable(this.#cache, resource, { filter, pace });
    if (selecting !== undefined) await selecting;
    // Finding and sending the objects takes as long as a list does.
    const starting = sendInitial ? exchange.client?.start() : undefined;
    if (starting !== undefined) await starting;
    pace.resume();
    const page = sendInitial ? await pace.run(pageNow(this.#cache, { resource, filter, after: '', limit: 0 })) : undefined;
    const initial = page?.entries ?? [];
    const after = page?.revision ?? revision ?? this.#cache.revision;
    const converting = readable(resource, initial, pace);
    if (converting !== undefined) await converting;
    // Nobody would end the watch of a client that has left.
    if (exchange.closed) return;
    const held = this.#cache.resource(resource.storage);
    const audience = this.#audienceOf(held);
    const key = `${resource.groupVersion}\n${shaper.key}\n${filter.key}`;
    const group = audience.group(filter.prefix, key, () => new View({ resource, shaper, filter, key, allowance: this.#allowance }));
    const stream =
      format === 'protobuf' ? protobufFrames(exchange.stream(200, protobufWatchType)) : exchange.stream(200, 'application/json');
    let timer: NodeJS.Timeout;
    const done = (): void => {
      clearTimeout(timer);
      this.#streams.delete(member);
      group.streams.delete(member);
      if (group.streams.size === 0) audience.remove(group);
    };
    const member = new WatchStream({
      stream,
      view: group.view,
      source: {
        cache: held,
        revision: () => this.#cache.revision,
        history: (since) => readHistory(this.#cache.store, { resource, prefix: filter.prefix, until: held.ring.after }, since),
      },
      after,
      bookmarks: options.allowWatchBookmarks === true,
      onDone: done,
      inTurn: (work) => void (exchange.client?.turn() ?? setImmediate()).then(work),
    });
    this.#streams.add(member);
    group.streams.add(member);
    const seconds = options.timeoutSeconds;
    const lasts = seconds !== undefined && seconds > 0 ? Math.min(seconds * 1000, 2 ** 31 - 1) : minTimeout * (1 + Math.random());
    timer = setTimeout(
      () => {
        if (lasts > lastMark) member.bookmark(Date.now(), 0);
        timer = setTimeout(() => member.end(), Math.min(lasts, lastMark));
      },
      Math.max(0, lasts - lastMark),
    );
    exchange.onClose(() => member.closed());
    const mark =
      options.sendInitialEvents === true && options.allowWatchBookmarks === true ? bookmarkFrame(resource, shaper, after, true) : undefined;
    member.startWith(initial, mark);
  }

  /** Ends the watches of one resource below a prefix, after its definition has changed. */
  endWatches(held: ResourceCache, prefix: string): void {
    for (const { streams } of this.#audiences.get(held)?.below(prefix) ?? []) for (const stream of [...streams]) stream.end();
  }

  /**
   * Expires the watches of some kinds whose view goes through a name that starts with one of `names`, so that their clients list
   * again: the view has changed, although no object has. Watches that started at `before` or later already have the new view.
   */
  expire(names: readonly string[], concerns: (kind: GroupResource) => boolean = () => true, before = Number.POSITIVE_INFINITY): void {
    for (const audience of this.#audiences.values()) {
      for (const { view, streams } of audience.below('')) {
        if (!concerns(view.resource) || !names.some((name) => view.isThrough(name))) continue;
        const { revision } = this.#cache;
        for (const stream of [...streams]) if (stream.began < before) stream.fail(view.tooOld(revision, revision));
      }
    }
  }

  /** Ends all watches: clients come back with their last revision, and get an error if it is too old. */
  endAll(): void {
    for (const stream of [...this.#streams]) stream.end();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.endAll();
  }

  #audienceOf(held: ResourceCache): Audience {
    let audience = this.#audiences.get(held);
    if (audience === undefined) {
      this.#audiences.set(held, (audience = new Audience()));
      held.listeners.add(audience);
    }
    return audience;
  }

  #sendBookmarks(): void {
    const now = Date.now();
    const every = Math.min(2 * bookmarkEvery, Math.max(bookmarkEvery, bookmarkShare * this.#streams.size));
    for (const member of this.#streams) member.bookmark(now, every);
  }
}
