import { describe, expect, it } from 'vitest';
import { StoreError } from '../contract.ts';
import { everything, Recorder } from './recorder.ts';
import type { Bench } from './store-suite.ts';

export function writeCases(bench: Bench): void {
  describe('compare-and-swap', () => {
    it('creates a key once', async () => {
      const { store } = bench;
      const revision = await store.create('/a', '{"n":1}');
      expect(await store.get('/a')).toEqual({ key: '/a', value: '{"n":1}', revision, createRevision: revision });
      await expect(store.create('/a', '{"n":2}')).rejects.toMatchObject({ code: 'exists', current: { value: '{"n":1}', revision } });
    });

    it('uses no revision for a rejected write', async () => {
      const { store } = bench;
      const revision = await store.create('/a', '1');
      const newest = await store.currentRevision();
      expect(newest).toBeGreaterThanOrEqual(revision);
      await expect(store.create('/a', '2')).rejects.toMatchObject({ code: 'exists' });
      expect(await store.currentRevision()).toBe(newest);
    });

    it('gives each write a revision above all earlier ones', async () => {
      const { store } = bench;
      for (let index = 0; index < 20; index++) {
        const newest = await store.currentRevision();
        expect(await store.create(`/${index}`, 'x')).toBeGreaterThan(newest);
      }
    });

    it('updates a key that is at the expected revision, and keeps its creation revision', async () => {
      const { store } = bench;
      const created = await store.create('/a', '1');
      const updated = await store.update('/a', '2', created);
      expect(updated).toBeGreaterThan(created);
      expect(await store.get('/a')).toEqual({ key: '/a', value: '2', revision: updated, createRevision: created });
    });

    it('rejects an update from a stale revision, with the current entry', async () => {
      const { store } = bench;
      const created = await store.create('/a', '1');
      const updated = await store.update('/a', '2', created);
      await expect(store.update('/a', '3', created)).rejects.toMatchObject({
        code: 'conflict',
        current: { key: '/a', value: '2', revision: updated, createRevision: created },
      });
      expect((await store.get('/a'))?.value).toBe('2');
    });

    it("creates a guarded key only while the guard's key exists", async () => {
      const { store } = bench;
      await expect(store.create('/child', '1', [{ key: '/parent' }])).rejects.toMatchObject({ code: 'unmet' });
      expect(await store.get('/child')).toBeUndefined();
      const parent = await store.create('/parent', '1');
      await store.create('/child', '1', [{ key: '/parent' }]);
      await store.delete('/parent', parent);
      await expect(store.create('/late', '1', [{ key: '/child' }, { key: '/parent' }])).rejects.toMatchObject({ code: 'unmet' });
      await expect(store.create('/child', '2', [{ key: '/parent' }])).rejects.toMatchObject({ code: 'exists' });
    });

    it("creates a guarded key only while the guard's key is unchanged", async () => {
      const { store } = bench;
      const first = await store.create('/parent', '1');
      await store.create('/a', '1', [{ key: '/parent', revision: first }]);
      const second = await store.update('/parent', '2', first);
      const before = await store.currentRevision();
      await expect(store.create('/b', '1', [{ key: '/parent', revision: first }])).rejects.toMatchObject({ code: 'unmet' });
      expect(await store.currentRevision()).toBe(before);
      await store.create('/b', '1', [{ key: '/parent', revision: second }, { key: '/a' }]);
    });

    it('decides about each of several concurrent guarded writes', async () => {
      const { store } = bench;
      const parent = await store.create('/parent', '1');
      const guards = (index: number) => [{ key: index % 2 === 0 ? '/parent' : '/nobody', revision: parent }];
      const made = Array.from({ length: 20 }, (_, index) => store.create(`/${index}`, 'x', guards(index)));
      const outcomes = await Promise.allSettled(made);
      expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map((_, index) => (index % 2 === 0 ? 'fulfilled' : 'rejected')));
    });

    it('rejects updates and deletions of a missing key', async () => {
      const { store } = bench;
      const before = await store.currentRevision();
      await expect(store.update('/a', '1', 1)).rejects.toMatchObject({ code: 'missing' });
      await expect(store.delete('/a', 1)).rejects.toMatchObject({ code: 'missing' });
      await expect(store.update('/a', '1', 0)).rejects.toMatchObject({ code: 'missing' });
      await expect(store.delete('/a', 0)).rejects.toMatchObject({ code: 'missing' });
      expect(await store.currentRevision()).toBe(before);
    });

    it('deletes a key that is at the expected revision, with a revision of its own', async () => {
      const { store } = bench;
      const created = await store.create('/a', '1');
      await expect(store.delete('/a', created + 1)).rejects.toMatchObject({ code: 'conflict', current: { revision: created } });
      const deleted = await store.delete('/a', created);
      expect(deleted).toBeGreaterThan(created);
      expect(await store.get('/a')).toBeUndefined();
      await expect(store.delete('/a', created)).rejects.toMatchObject({ code: 'missing' });
    });

    it('gives a recreated key a new creation revision', async () => {
      const { store } = bench;
      const first = await store.create('/a', '1');
      await store.delete('/a', first);
      const second = await store.create('/a', '2');
      expect(await store.get('/a')).toEqual({ key: '/a', value: '2', revision: second, createRevision: second });
    });

    it('does not let a rejected write affect others in the same batch', async () => {
      const { store } = bench;
      await store.create('/taken', 'old');
      const results = await Promise.allSettled([
        store.create('/a', '1'),
        store.create('/taken', 'new'),
        store.update('/none', 'x', 1),
        store.create('/b', '2'),
        store.delete('/taken', 1),
        store.create('/c', '3'),
      ]);
      expect(results.map((result) => (result.status === 'fulfilled' ? 'done' : (result.reason as StoreError).code))).toEqual([
        'done',
        'exists',
        'missing',
        'done',
        'conflict',
        'done',
      ]);
      expect((await store.list(everything)).entries.map(({ key, value }) => key + value)).toEqual(['/a1', '/b2', '/c3', '/takenold']);
    });

    it('lets exactly one of 1000 concurrent writers win each revision of a key', async () => {
      const { store } = bench;
      const created = await store.create('/counter', '0');
      let revision = created;
      for (let round = 1; round <= 3; round++) {
        const attempts = Array.from({ length: 1000 }, (_, writer) => store.update('/counter', `${round}:${writer}`, revision));
        const results = await Promise.allSettled(attempts);
        const winners = results.flatMap((result, writer) => (result.status === 'fulfilled' ? [{ writer, revision: result.value }] : []));
        expect(winners).toHaveLength(1);
        const { writer, revision: won } = winners[0]!;
        expect(won).toBeGreaterThan(revision);
        expect(await store.get('/counter')).toEqual({
          key: '/counter',
          value: `${round}:${writer}`,
          revision: won,
          createRevision: created,
        });
        for (const result of results) {
          if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'conflict', current: { revision: won } });
        }
        revision = won;
      }
    });

    it('loses no increment when many writers retry on conflict', async () => {
      const { store } = bench;
      await store.create('/counter', '0');
      const increment = async (): Promise<void> => {
        let entry = await store.get('/counter');
        for (;;) {
          try {
            await store.update('/counter', String(Number(entry!.value) + 1), entry!.revision);
            return;
          } catch (error) {
            if (!(error instanceof StoreError) || error.code !== 'conflict') throw error;
            entry = error.current;
          }
        }
      };
      await Promise.all(Array.from({ length: 20 }, () => increment()));
      expect((await store.get('/counter'))?.value).toBe('20');
    });
  });

  describe('values and keys', () => {
    it('stores any text unchanged', async () => {
      const { store } = bench;
      const values = ['', '{"a":"ümläut \u{1f680} \\u0000"}', '"\u2028\u2029"', '\u00ff'.repeat(1000), `["${'\ufffd'}"]`];
      for (const [index, value] of values.entries()) await store.create(`/v/${index}`, value);
      expect((await store.list(everything)).entries.map((entry) => entry.value)).toEqual(values);
    });

    it('stores a value of one mebibyte', async () => {
      const { store } = bench;
      const value = JSON.stringify('0123456789abcdef'.repeat(65_536 - 1));
      await store.create('/large', value);
      expect((await store.get('/large'))?.value).toBe(value);
    });

    it("rejects a value over the engine's limit, and changes nothing", async () => {
      const { store } = bench;
      const before = await store.currentRevision();
      await expect(store.create('/large', 'x'.repeat(17 * 1024 * 1024))).rejects.toMatchObject({ code: 'toolarge' });
      expect(await store.currentRevision()).toBe(before);
      await store.create('/after', '1');
    });

    it('rejects a key that is not well-formed text', async () => {
      await expect(bench.store.create('/half\ud83d', '1')).rejects.toMatchObject({ code: 'toolarge' });
    });
  });

  it('rejects requests after it was closed', async () => {
    const { store } = bench;
    await store[Symbol.asyncDispose]();
    await expect(store.create('/a', '1')).rejects.toMatchObject({ code: 'closed' });
    await expect(store.get('/a')).rejects.toMatchObject({ code: 'closed' });
    await expect(store.list(everything)).rejects.toMatchObject({ code: 'closed' });
    await expect(store.currentRevision()).rejects.toMatchObject({ code: 'closed' });
    const recorder = new Recorder();
    recorder.start(store, 1);
    expect((await recorder.fails()).code).toBe('closed');
  });
}
