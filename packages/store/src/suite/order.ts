import { describe, expect, it } from 'vitest';
import { type Entry, type Store, StoreError, type StoreEvent } from '../contract.ts';
import { compareKeys, prefixRange } from '../keys.ts';
import { everything, Recorder } from './recorder.ts';
import type { Bench } from './store-suite.ts';

/** Mistakes that a driver could make when it groups several writes. */
export function orderCases(bench: Bench): void {
  describe('concurrent writes', () => {
    it('have one order, in which watchers and their writers see them', async () => {
      const { store } = bench;
      const recorder = new Recorder();
      recorder.start(store, await store.currentRevision());
      const { made, refused } = await writeAtOnce(store);
      await recorder.reaches(await store.currentRevision());
      expect(refused).toBeGreaterThan(0);
      expect(new Set(made.map(({ revision }) => revision)).size).toBe(made.length);
      const told = recorder.received.map(({ type, key, revision }) => ({ type, key, revision }));
      expect(told).toEqual(made.toSorted((a, b) => a.revision - b.revision));
    });

    it('can be watched from each of their revisions, for all keys or some', async () => {
      const { store } = bench;
      const before = await store.currentRevision();
      const live = new Recorder();
      live.start(store, before);
      await writeAtOnce(store);
      const newest = await store.currentRevision();
      await live.reaches(newest);
      for (const range of [everything, prefixRange('/1'), { start: '/3', end: '/7/5' }]) {
        const all = live.received.filter(({ key }) => compareKeys(key, range.start) >= 0 && compareKeys(key, range.end) < 0);
        const resumed = [before, ...live.revisions].map((after) => {
          const recorder = new Recorder();
          return { after, recorder, watch: recorder.start(store, after, range) };
        });
        for (const { after, recorder, watch } of resumed) {
          watch.requestProgress();
          await recorder.reaches(newest);
          watch.close();
          expect(recorder.received).toEqual(all.filter(({ revision }) => revision > after));
        }
      }
    });

    it('can be listed at each of their revisions', async () => {
      const { store } = bench;
      const before = await store.currentRevision();
      const live = new Recorder();
      live.start(store, before);
      await writeAtOnce(store);
      await live.reaches(await store.currentRevision());
      const state = new Map<string, Entry>();
      expect((await store.list(everything, { revision: before })).entries).toEqual([]);
      for (const event of live.received) {
        replay(state, event);
        const { revision } = event;
        const entries = [...state.values()].sort((a, b) => compareKeys(a.key, b.key));
        expect(await store.list(everything, { revision })).toEqual({ revision, entries, remaining: 0 });
        const page = await store.list(everything, { revision, limit: 7 });
        expect(page).toEqual({ revision, entries: entries.slice(0, 7), remaining: Math.max(0, entries.length - 7) });
      }
    });

    it('leave each key in the state of its newest event', async () => {
      const { store } = bench;
      const live = new Recorder();
      live.start(store, await store.currentRevision());
      await writeAtOnce(store);
      await live.reaches(await store.currentRevision());
      const state = new Map<string, Entry>();
      for (const event of live.received) replay(state, event);
      const { entries } = await store.list(everything);
      expect(new Map(entries.map((entry) => [entry.key, entry]))).toEqual(state);
      for (const entry of entries) expect(await store.get(entry.key)).toEqual(entry);
    });
  });
}

interface Made {
  readonly type: StoreEvent['type'];
  readonly key: string;
  readonly revision: number;
}

const writers = 40;
const keysOfWriter = 4;

/** Writers with keys of their own, and some shared keys that they compete for. */
async function writeAtOnce(store: Store): Promise<{ made: Made[]; refused: number }> {
  const made: Made[] = [];
  let refused = 0;
  const attempt = async (type: Made['type'], key: string, write: () => Promise<number>): Promise<number> => {
    try {
      const revision = await write();
      made.push({ type, key, revision });
      return revision;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      refused++;
      return 0;
    }
  };
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let index = 0; index < keysOfWriter; index++) {
        const key = index === 0 ? `/${writer % 8}/shared` : `/${writer % 8}/${writer}-${index}`;
        const created = await attempt('put', key, () => store.create(key, `${writer}`));
        const updated = await attempt('put', key, () => store.update(key, `${writer}!`, created));
        if (index % 2 === 1) await attempt('delete', key, () => store.delete(key, updated));
      }
    }),
  );
  return { made, refused };
}

function replay(state: Map<string, Entry>, event: StoreEvent): void {
  if (event.type === 'delete') state.delete(event.key);
  else state.set(event.key, { key: event.key, value: event.value, revision: event.revision, createRevision: event.createRevision });
}
