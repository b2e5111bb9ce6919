import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../contract.ts';
import { prefixRange } from '../keys.ts';
import { openSqliteStore } from './open.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'capstan-compaction-'));
});
afterEach(() => rm(root, { recursive: true }));

describe('compaction of a SQLite store', () => {
  const value = 'v'.repeat(4000);

  async function overwrite(store: Store, rounds: number): Promise<void> {
    const keys = Array.from({ length: 100 }, (_, index) => `/k/${index}`);
    let revisions = await Promise.all(keys.map((key) => store.create(key, value)));
    for (let round = 0; round < rounds; round++)
      revisions = await Promise.all(keys.map((key, index) => store.update(key, value, revisions[index]!)));
  }

  /** Waits until a copy without free pages is small enough: the sweep runs in the background. */
  async function waitForContent(store: Store, bytes: number): Promise<void> {
    while ((await store.snapshot(path.join(root, 'copy.db'))).bytes > bytes);
  }

  it('returns the space of forgotten values to the file system', async () => {
    const directory = path.join(root, 's');
    {
      await using store = await openSqliteStore({ directory });
      await overwrite(store, 60);
      await store.compact(await store.currentRevision());
      await waitForContent(store, 1_500_000);
    }
    // The rest of the shrinking happens after the next start.
    for (let size = Number.POSITIVE_INFINITY; size > 12_000_000; size = (await stat(path.join(directory, 'store.db'))).size) {
      await using store = await openSqliteStore({ directory });
      await store.create(`/more/${size}`, 'x');
    }
    await using store = await openSqliteStore({ directory });
    expect((await store.list(prefixRange('/k/'))).entries.map((entry) => entry.value)).toEqual(Array.from({ length: 100 }, () => value));
  });

  it('finishes after a restart if the process ended in the middle of it', async () => {
    const directory = path.join(root, 's');
    {
      await using store = await openSqliteStore({ directory });
      await overwrite(store, 20);
      await store.compact(await store.currentRevision());
    }
    await using store = await openSqliteStore({ directory });
    await waitForContent(store, 1_500_000);
    expect((await store.list(prefixRange('/'))).entries).toHaveLength(100);
  });

  it('runs during other writes, and does not remove them', async () => {
    await using store = await openSqliteStore({ directory: path.join(root, 's') });
    await overwrite(store, 20);
    await store.compact(await store.currentRevision());
    const created = await Promise.all(Array.from({ length: 500 }, (_, index) => store.create(`/new/${index}`, String(index))));
    await waitForContent(store, 2_500_000);
    const { entries } = await store.list(prefixRange('/new/'));
    expect(entries.map((entry) => entry.revision).toSorted((a, b) => a - b)).toEqual(created);
  });
});
