import type { KubeObject } from '@capstan/machinery';
import { type Store, StoreError } from '@capstan/store';
import type { CacheEntry } from '../cache/entry.ts';
import { type ResourceCache, storeKey, type WatchCache } from '../cache/watch-cache.ts';
import { RevisionClock } from './revision-clock.ts';

const events = { group: '', resource: 'events' };
const hour = 3_600_000;
/** In how many steps the lifetime is measured. */
const steps = 60;
/** Deletions at the same time: the store writes them together, and others still get their turn. */
const width = 32;

export interface RetentionOptions {
  readonly cache: WatchCache;
  readonly store: Store;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
  /** In milliseconds: how long an event stays after it was last written. */
  readonly lifetime?: number | undefined;
}

/**
 * Deletes events that nobody has written for an hour. The age of an event is that of its revision, so none is parsed, and nothing is kept for each: a look at
 * a hundred thousand of them compares as many numbers. Several servers on one store do the same work: the second finds it done.
 */
export function keepEventsFor({ cache, store, now, signal, onError, lifetime = hour }: RetentionOptions): void {
  const held = cache.resource(events);
  const clock = new RevisionClock();
  for (const { at, revision } of ages(written(held, Number.POSITIVE_INFINITY))) clock.add(at, revision);
  let isBusy = false;
  const look = async (): Promise<void> => {
    const time = now().getTime();
    clock.add(time, cache.revision);
    if (isBusy) return;
    isBusy = true;
    try {
      await removeAll(store, written(held, clock.upTo(time - lifetime)), signal);
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

/** The events that were last written up to a revision. */
function written({ entries }: ResourceCache, last: number): CacheEntry[] {
  const found: CacheEntry[] = [];
  if (last === 0) return found;
  entries.walk('', '\uffff', (entry) => {
    if (entry.revision <= last) found.push(entry);
    return true;
  });
  return found;
}

/** When what is there at the start was written, in steps. */
function ages(entries: CacheEntry[]): { at: number; revision: number }[] {
  entries.sort((one, other) => one.revision - other.revision);
  const step = Math.max(1, Math.floor(entries.length / steps));
  return entries
    .filter((_, index) => index % step === 0 || index === entries.length - 1)
    .map((entry) => ({ at: writtenAt(entry.parse()), revision: entry.revision }));
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
      await store.delete(storeKey({ ...events, cluster, namespace, name }), revision).catch((error: unknown) => {
        // Written anew or gone meanwhile.
        if (!(error instanceof StoreError) || (error.code !== 'missing' && error.code !== 'conflict')) throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, entries.length) }, work));
}
