import { describe, expect, it } from 'vitest';
import { everything, Recorder } from './recorder.ts';
import type { Bench } from './store-suite.ts';

export function compactionCases(bench: Bench): void {
  describe('compaction', () => {
    it('forgets history up to the revision and keeps current values', async () => {
      const { store } = bench;
      const before = await store.currentRevision();
      const a = await store.create('/a', '1');
      const b = await store.create('/b', '1');
      const updated = await store.update('/a', '2', a);
      const deleted = await store.delete('/b', b);
      const last = await store.create('/c', '1');
      await store.compact(last);
      const compacted = await store.compactedRevision();
      expect(compacted).toBeGreaterThanOrEqual(deleted);
      expect(compacted).toBeLessThanOrEqual(last);
      expect((await store.list(everything)).entries).toEqual([
        { key: '/a', value: '2', revision: updated, createRevision: a },
        { key: '/c', value: '1', revision: last, createRevision: last },
      ]);
      await expect(store.list(everything, { revision: updated })).rejects.toMatchObject({ code: 'compacted' });
      const recorder = new Recorder();
      recorder.start(store, before);
      expect(await recorder.fails()).toMatchObject({ code: 'compacted', compactedRevision: compacted });
    });

    it('still lists and watches from the compacted revision on', async () => {
      const { store } = bench;
      const a = await store.create('/a', '1');
      const b = await store.create('/b', '1');
      const middle = await store.update('/a', '2', a);
      await store.compact(middle);
      const deleted = await store.delete('/b', b);
      const last = await store.update('/a', '3', middle);
      expect((await store.list(everything, { revision: middle })).entries.map((entry) => entry.key + entry.value)).toEqual(['/a2', '/b1']);
      const recorder = new Recorder();
      const watch = recorder.start(store, middle);
      await recorder.reaches(last);
      watch.close();
      expect(recorder.received).toEqual([
        { type: 'delete', revision: deleted, key: '/b', previous: { key: '/b', value: '1', revision: b, createRevision: b } },
        {
          type: 'put',
          revision: last,
          key: '/a',
          value: '3',
          createRevision: a,
          previous: { key: '/a', value: '2', revision: middle, createRevision: a },
        },
      ]);
    });

    it('may be repeated, and requested for an older revision', async () => {
      const { store } = bench;
      const first = await store.create('/a', '1');
      const second = await store.create('/b', '1');
      await store.compact(second);
      const compacted = await store.compactedRevision();
      expect(compacted).toBeGreaterThanOrEqual(first);
      expect(compacted).toBeLessThanOrEqual(second);
      await store.compact(second);
      await store.compact(first);
      expect(await store.compactedRevision()).toBe(compacted);
    });

    it('does not disturb a watch that is up to date', async () => {
      const { store } = bench;
      const after = await store.currentRevision();
      const recorder = new Recorder();
      const watch = recorder.start(store, after);
      let revision = await store.create('/a', '0');
      const made = [revision];
      for (let index = 1; index <= 30; index++) {
        revision = await store.update('/a', String(index), revision);
        made.push(revision);
        await recorder.reaches(revision);
        await store.compact(revision);
      }
      const last = await store.create('/b', '1');
      await recorder.reaches(last);
      watch.close();
      expect(recorder.revisions).toEqual([...made, last]);
    });

    it('never reuses a revision, even if the newest row was a deletion that is forgotten', async () => {
      const { store } = bench;
      const created = await store.create('/a', '1');
      const deleted = await store.delete('/a', created);
      await store.compact(deleted);
      const again = await bench.reopen();
      const newest = await again.currentRevision();
      expect(newest).toBeGreaterThanOrEqual(deleted);
      expect(await again.create('/a', '2')).toBeGreaterThan(newest);
    });
  });
}
