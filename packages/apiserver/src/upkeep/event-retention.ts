import { asClusterId } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { type Store, StoreError } from '@capstan/store';
import type { CacheEntry } from '../cache/entry.ts';
import { type ResourceCache, storeKey, type WatchCache } from '../cache/watch-cache.ts';
import { RevisionClock } from './revision-clock.ts';

const events = { group: '', resource: 'events' };
const hour = 3_600_000;
/** How many checks are made per lifetime. */
const steps = 60;
/** How many events are sampled at startup to estimate the age of all of them. */
const samples = 240;
/** Concurrent deletions: the store batches them, and other requests are still served in between. */
const width = 32;

export interface RetentionOptions {
  readonly cache: WatchCache;
  readonly store: Store;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
  /** How long an event stays after its last write, in milliseconds. */
  readonly lifetime?: number | undefined;
}

/**
 * Deletes events that have not been written for an hour. The age of an event is the age of its revision, so nothing is parsed or
 * kept per event: checking a hundred thousand events compares as many numbers, and no check happens while none can be old enough.
 * Servers that share a store share this work: the second finds it done.
 */
export function keepEventsFor({ cache, store, now, signal, onError, lifetime = hour }: RetentionOptions): void {
  const held = cache.resource(events);
  const clock = new RevisionClock();
  for (const { at, revision } of ages(held)) clock.add(at, revision);
  let oldest = 0;
  let isBusy = false;
  const look = async (): Promise<void> => {
    const time = now().getTime();
    clock.add(time, cache.revision);
    const last = clock.upTo(time - lifetime);
    if (isBusy || last < oldest || last === 0) return;
    isBusy = true;
    try {
      const found = findOld(held, { last, newest: cache.revision });
      await removeAll(store, found.old, signal);
      oldest = found.next;
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'closed') onError(error);
    }
    isBusy = false;
  };
  const timer = setInterval(() => void look(), lifetime / steps);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  void look();
}

/** The events last written at or before a revision, and the lowest revision among the others. */
function findOld({ entries }: ResourceCache, { last, newest }: { last: number; newest: number }): { old: CacheEntry[]; next: number } {
  const old: CacheEntry[] = [];
  let next = newest + 1;
  entries.walk('', '\uffff', (entry) => {
    if (entry.revision <= last) old.push(entry);
    else if (entry.revision < next) next = entry.revision;
    return true;
  });
  return { old, next };
}

/**
 * Samples of when the events present at startup were written. They are ordered by name, which is unrelated to age, so any sample
 * will do.
 */
function ages({ entries }: ResourceCache): { at: number; revision: number }[] {
  const every = Math.max(1, Math.floor(entries.size / samples));
  const found: { at: number; revision: number }[] = [];
  let index = 0;
  entries.walk('', '\uffff', (entry) => {
    if (index++ % every === 0) found.push({ at: writtenAt(entry.parse()), revision: entry.revision });
    return true;
  });
  return found.sort((one, other) => one.revision - other.revision);
}

function writtenAt({ metadata }: KubeObject): number {
  const times = [metadata.creationTimestamp, ...(metadata.managedFields ?? []).map(({ time }) => time)];
  return Math.max(0, ...times.map((time) => Date.parse(time ?? '')).filter((time) => !Number.isNaN(time)));
}

async function removeAll(store: Store, entries: readonly CacheEntry[], signal: AbortSignal): Promise<void> {
  const waiting = entries.values();
  const work = async (): Promise<void> => {
    for (const { key, revision } of waiting) {
      if (signal.aborted) return;
      const [cluster = '', namespace = '', name = ''] = key.split('/');
      await store.delete(storeKey({ ...events, cluster: asClusterId(cluster), namespace, name }), revision).catch((error: unknown) => {
        // Updated or deleted in the meantime.
        if (!(error instanceof StoreError) || (error.code !== 'missing' && error.code !== 'conflict')) throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, entries.length) }, work));
}
