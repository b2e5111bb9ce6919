import { describe, expect, it } from 'vitest';
import type { Store } from '../contract.ts';
import { prefixRange } from '../keys.ts';
import { everything } from './recorder.ts';
import type { Bench } from './store-suite.ts';

export function listCases(bench: Bench): void {
  describe('list', () => {
    it('returns the keys of a range and none of its neighbours', async () => {
      const { store } = bench;
      for (const key of ['/a', '/a/1', '/a/2', '/a0', '/b/1']) await store.create(key, key);
      const page = await store.list(prefixRange('/a/'));
      expect(page.entries.map((entry) => entry.key)).toEqual(['/a/1', '/a/2']);
      expect(page.remaining).toBe(0);
      expect(page.revision).toBe(await store.currentRevision());
      expect((await store.list({ start: '/a/2', end: '/b/1' })).entries.map((entry) => entry.key)).toEqual(['/a/2', '/a0']);
      expect((await store.list({ start: '/c', end: '/d' })).entries).toEqual([]);
    });

    it('orders keys by the bytes of their UTF-8', async () => {
      const { store } = bench;
      // In UTF-16 order the rocket would come before U+FFFD and U+E000.
      const ordered = ['/A', '/a', '/aa', '/é', '/中', '/\ue000', '/\ufffd', '/\u{1f680}', '/\u{10fffd}'];
      await Promise.all(ordered.toReversed().map((key) => store.create(key, key)));
      expect((await store.list(everything)).entries.map((entry) => entry.key)).toEqual(ordered);
      expect((await store.list({ start: '/\ufffd', end: '/\u{1f681}' })).entries.map((entry) => entry.key)).toEqual([
        '/\ufffd',
        '/\u{1f680}',
      ]);
    });

    it('limits a page and counts the remaining keys', async () => {
      const { store } = bench;
      for (const name of 'abcde') await store.create(`/${name}`, name);
      const first = await store.list(everything, { limit: 2 });
      expect(first.entries.map((entry) => entry.value).join('')).toBe('ab');
      expect(first.remaining).toBe(3);
      const second = await store.list({ start: '/b\0', end: everything.end }, { limit: 3, revision: first.revision });
      expect(second.entries.map((entry) => entry.value).join('')).toBe('cde');
      expect(second.remaining).toBe(0);
    });

    it('shows an old revision as it was', async () => {
      const { store } = bench;
      const kept = await store.create('/kept', 'kept');
      const changed = await store.create('/changed', 'before');
      const deleted = await store.create('/deleted', 'gone');
      const old = await store.list(everything);
      await store.update('/changed', 'after', changed);
      await store.delete('/deleted', deleted);
      await store.create('/deleted', 'again');
      await store.create('/new', 'new');
      expect(await store.list(everything, { revision: old.revision })).toEqual(old);
      expect(old.entries.map((entry) => entry.revision)).toEqual([changed, deleted, kept]);
      expect((await store.list(everything, { revision: old.revision, limit: 1 })).remaining).toBe(2);
    });

    it('pages through one revision while others write', async () => {
      const { store } = bench;
      const names = Array.from({ length: 100 }, (_, index) => `/k/${String(index).padStart(3, '0')}`);
      await Promise.all(names.map((name) => store.create(name, 'old')));
      const revision = await store.currentRevision();
      const seen: string[] = [];
      const writing = rewrite(store, names);
      for (let start = '/k/'; ; ) {
        const page = await store.list({ start, end: '/k0' }, { revision, limit: 7 });
        for (const entry of page.entries) seen.push(`${entry.key}=${entry.value}`);
        expect(page.remaining).toBe(names.length - seen.length);
        if (page.remaining === 0) break;
        start = `${page.entries.at(-1)!.key}\0`;
      }
      await writing;
      expect(seen).toEqual(names.map((name) => `${name}=old`));
    });

    it('rejects a revision that does not exist yet', async () => {
      const { store } = bench;
      await store.create('/a', '1');
      await expect(store.list(everything, { revision: (await store.currentRevision()) + 100 })).rejects.toMatchObject({ code: 'future' });
    });

    it('returns more than one message can contain', async () => {
      const { store } = bench;
      const value = 'v'.repeat(1_000);
      await Promise.all(Array.from({ length: 6_000 }, (_, index) => store.create(`/many/${index}`, value)));
      const page = await store.list(everything);
      expect(page.entries).toHaveLength(6_000);
      expect(page.entries.every((entry) => entry.value === value)).toBe(true);
    });
  });
}

async function rewrite(store: Store, names: string[]): Promise<void> {
  const { entries } = await store.list(everything);
  await Promise.all(
    entries.map(async (entry, index) => {
      if (index % 3 === 0) await store.delete(entry.key, entry.revision);
      else await store.update(entry.key, 'new', entry.revision);
      await store.create(`${names[index]!}-extra`, 'new');
    }),
  );
}
