import { describe, expect, it } from 'vitest';
import { prefixRange } from '../keys.ts';
import { Recorder } from './recorder.ts';
import type { Bench } from './store-suite.ts';

export function watchCases(bench: Bench): void {
  describe('watch', () => {
    it('delivers every change with the previous entry', async () => {
      const { store } = bench;
      const after = await store.currentRevision();
      const recorder = new Recorder();
      recorder.start(store, after);
      const created = await store.create('/a', '1');
      const updated = await store.update('/a', '2', created);
      const deleted = await store.delete('/a', updated);
      await recorder.reaches(deleted);
      expect(recorder.received).toEqual([
        { type: 'put', revision: created, key: '/a', value: '1', createRevision: created, previous: undefined },
        {
          type: 'put',
          revision: updated,
          key: '/a',
          value: '2',
          createRevision: created,
          previous: { key: '/a', value: '1', revision: created, createRevision: created },
        },
        { type: 'delete', revision: deleted, key: '/a', previous: { key: '/a', value: '2', revision: updated, createRevision: created } },
      ]);
    });

    it('delivers the same events from history as it did live', async () => {
      const { store } = bench;
      const after = await store.currentRevision();
      const live = new Recorder();
      live.start(store, after);
      const a = await store.create('/a', '1');
      await store.create('/b', '1');
      const updated = await store.update('/a', '2', a);
      const last = await store.delete('/a', updated);
      await live.reaches(last);
      const late = new Recorder();
      late.start(store, after);
      await late.reaches(last);
      expect(late.received).toEqual(live.received);
    });

    it('continues from any revision without gaps or repetitions', async () => {
      const { store } = bench;
      const before = await store.currentRevision();
      const made: number[] = [];
      for (let index = 0; index < 20; index++) made.push(await store.create(`/k/${index}`, String(index)));
      for (const after of [before, ...made, await store.currentRevision()]) {
        const recorder = new Recorder();
        const watch = recorder.start(store, after);
        made.push(await store.create(`/next/${made.length}`, 'x'));
        await recorder.reaches(made.at(-1)!);
        watch.close();
        expect(recorder.revisions).toEqual(made.filter((revision) => revision > after));
      }
    });

    it('joins history and live events while many clients write', async () => {
      const { store } = bench;
      const after = await store.currentRevision();
      const recorders: Recorder[] = [];
      const made: number[] = [];
      const writing = Array.from({ length: 20 }, async (_, writer) => {
        for (let index = 0; index < 50; index++) made.push(await store.create(`/w/${writer}/${index}`, 'v'.repeat(100)));
      });
      for (let index = 0; index < 10; index++) {
        const recorder = new Recorder(index % 2 === 0);
        recorders.push(recorder);
        recorder.start(store, after);
        await store.get('/none');
      }
      await Promise.all(writing);
      const last = await store.currentRevision();
      for (const recorder of recorders) {
        await recorder.reaches(last);
        expect(recorder.revisions).toEqual(made.toSorted((a, b) => a - b));
      }
    });

    it('delivers previous entries of writes that were pending when it began', async () => {
      const { store } = bench;
      const created = await store.create('/a', '1');
      const updating = store.update('/a', '2', created);
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
      const recorder = new Recorder();
      recorder.start(store, created);
      await recorder.reaches(await updating);
      expect(recorder.received).toMatchObject([{ type: 'put', value: '2', previous: { value: '1', revision: created } }]);
    });

    it('omits previous entries if the watcher keeps them itself', async () => {
      const { store } = bench;
      const created = await store.create('/a', '1');
      const updated = await store.update('/a', '2', created);
      const recorder = new Recorder(true);
      recorder.start(store, created - 1);
      await recorder.reaches(updated);
      const deleted = await store.delete('/a', updated);
      await recorder.reaches(deleted);
      expect(recorder.received.map(({ type, revision, previous }) => [type, revision, previous])).toEqual([
        ['put', created, undefined],
        ['put', updated, undefined],
        ['delete', deleted, undefined],
      ]);
    });

    it('delivers only events of its range', async () => {
      const { store } = bench;
      const after = await store.currentRevision();
      const recorder = new Recorder();
      recorder.start(store, after, prefixRange('/a/'));
      for (const key of ['/a', '/a/1', '/b', '/a/2', '/a0']) await store.create(key, key);
      const last = await store.create('/a/\u{1f680}', 'x');
      await recorder.reaches(last);
      expect(recorder.received.map((event) => event.key)).toEqual(['/a/1', '/a/2', '/a/\u{1f680}']);
    });

    it('reports its progress on request, even if nothing in its range happened', async () => {
      const { store } = bench;
      const after = await store.currentRevision();
      const recorder = new Recorder();
      let revision = 0;
      for (let index = 0; index < 20; index++) revision = await store.create(`/loud/${index}`, '1');
      // Requested once, before the watch has caught up with history.
      const watch = recorder.start(store, after, prefixRange('/quiet/'));
      watch.requestProgress();
      await recorder.reaches(revision);
      expect(recorder.received).toEqual([]);
      for (let round = 0; round < 20; round++) {
        const next = await store.create(`/loud-again/${round}`, '1');
        watch.requestProgress();
        await recorder.reaches(next);
        recorder.progressed = 0;
        // Nothing new has happened: the current progress is reported.
        watch.requestProgress();
        await recorder.reaches(next);
      }
    });

    it('delivers nothing after it was closed', async () => {
      const { store } = bench;
      const closed = new Recorder();
      const open = new Recorder();
      const after = await store.currentRevision();
      const watch = closed.start(store, after);
      open.start(store, after);
      const first = await store.create('/a', '1');
      await closed.reaches(first);
      watch.close();
      const second = await store.create('/b', '2');
      await open.reaches(second);
      expect(closed.revisions).toEqual([first]);
      expect(closed.error).toBeUndefined();
    });

    it('ends a watch whose handler throws, but no other', async () => {
      const { store } = bench;
      const after = await store.currentRevision();
      const bad = new Recorder();
      bad.events = () => {
        throw new Error('handler is broken');
      };
      const good = new Recorder();
      bad.start(store, after);
      good.start(store, after);
      const revision = await store.create('/a', '1');
      await good.reaches(revision);
      expect((await bad.fails()).message).toContain('handler is broken');
      const next = await store.create('/b', '1');
      await good.reaches(next);
      expect(good.revisions).toEqual([revision, next]);
    });

    it('rejects a revision that does not exist yet', async () => {
      const { store } = bench;
      const recorder = new Recorder();
      recorder.start(store, (await store.currentRevision()) + 100);
      expect((await recorder.fails()).code).toBe('future');
    });

    it('lets a handler start another watch and write, without repeating the batch to either', async () => {
      const { store } = bench;
      const after = await store.currentRevision();
      const second = new Recorder();
      const first = new Recorder();
      let written: Promise<number> | undefined;
      const record = first.events.bind(first);
      first.events = (batch) => {
        if (written === undefined) {
          second.start(store, batch.at(-1)!.revision);
          written = store.create('/from-handler', 'x');
        }
        record(batch);
      };
      first.start(store, after);
      const revision = await store.create('/a', '1');
      await first.reaches(revision);
      const last = await written!;
      await first.reaches(last);
      await second.reaches(last);
      expect(first.revisions).toEqual([revision, last]);
      expect(second.revisions).toEqual([last]);
    });

    it('ends with the store', async () => {
      const { store } = bench;
      const recorder = new Recorder();
      recorder.start(store, await store.currentRevision());
      const revision = await store.create('/a', '1');
      await recorder.reaches(revision);
      await store[Symbol.asyncDispose]();
      expect((await recorder.fails()).code).toBe('closed');
    });

    it('does not make writers wait for a watch that reads a long history', async () => {
      const { store } = bench;
      const after = await store.currentRevision();
      const made = await Promise.all(Array.from({ length: 3_000 }, (_, index) => store.create(`/h/${index}`, 'v'.repeat(500))));
      const slow = Array.from({ length: 5 }, () => new Recorder());
      for (const recorder of slow) recorder.start(store, after);
      const revision = await store.create('/written', 'meanwhile');
      for (const recorder of slow) await recorder.reaches(revision);
      made.push(revision);
      for (const recorder of slow) expect(recorder.revisions).toEqual(made.toSorted((a, b) => a - b));
    });
  });
}
