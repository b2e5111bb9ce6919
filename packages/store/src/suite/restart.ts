import { describe, expect, it } from 'vitest';
import { everything, Recorder } from './recorder.ts';
import type { Bench } from './store-suite.ts';

export function restartCases(bench: Bench): void {
  describe('restart', () => {
    it('keeps values, revisions and history', async () => {
      const a = await bench.store.create('/a', '1');
      const updated = await bench.store.update('/a', '2', a);
      const before = await bench.store.list(everything);
      const store = await bench.reopen();
      expect(await store.list(everything)).toEqual(before);
      expect((await store.list(everything, { revision: a })).entries.map((entry) => entry.value)).toEqual(['1']);
      expect(await store.create('/b', '1')).toBeGreaterThan(updated);
    });

    it('lets a watcher resume from its last revision', async () => {
      const after = await bench.store.currentRevision();
      const before = new Recorder();
      before.start(bench.store, after);
      const made: number[] = [];
      for (let index = 0; index < 10; index++) made.push(await bench.store.create(`/before/${index}`, 'x'));
      await before.reaches(made[4]!);
      const seen = before.revisions.at(-1)!;
      const store = await bench.reopen();
      for (let index = 0; index < 10; index++) made.push(await store.create(`/after/${index}`, 'x'));
      const resumed = new Recorder();
      const watch = resumed.start(store, seen);
      await resumed.reaches(made.at(-1)!);
      watch.close();
      expect(resumed.revisions).toEqual(made.filter((revision) => revision > seen));
    });

    it('completes the writes that it accepted before it was closed', async () => {
      const writes = Array.from({ length: 100 }, (_, index) => bench.store.create(`/pending/${index}`, 'x'));
      const results = Promise.allSettled(writes);
      const store = await bench.reopen();
      const acknowledged = (await results).filter((result) => result.status === 'fulfilled').length;
      expect((await store.list(everything)).entries.length).toBe(acknowledged);
      expect(acknowledged).toBe(100);
    });
  });
}
