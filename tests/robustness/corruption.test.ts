import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { openSqliteStore, prefixRange, type Store, StoreError } from '@capstan/store';
import { type TemporaryDirectory, temporaryDirectory } from '@capstan/testbed';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const everything = prefixRange('/');

/** Flipped bytes, and runs of zeroes like those of a torn or lost sector. */
const damage = fc.record({
  place: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  length: fc.constantFrom(1, 1, 1, 16, 512, 4096),
  change: fc.oneof(fc.integer({ min: 1, max: 255 }), fc.constant(0)),
});

describe('a store with a damaged file', () => {
  let original: TemporaryDirectory;
  const written = new Map<string, string>();

  beforeAll(async () => {
    original = temporaryDirectory('sound');
    await using store = await openSqliteStore({ directory: original.path });
    await Promise.all(
      Array.from({ length: 120 }, async (_, index) => {
        const key = `/registry/things/${index}`;
        const revision = await store.create(key, `{"old":${index}}`);
        const value = JSON.stringify({ index, text: 'abcdefgh'.repeat((index * 37) % 200) });
        await store.update(key, value, revision);
        written.set(key, value);
      }),
    );
  });
  afterAll(() => original[Symbol.dispose]());

  it('returns what was written or reports the damage, never anything else', async () => {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(damage, async ({ place, length, change }) => {
        using copy = temporaryDirectory('damaged');
        await cp(original.path, copy.path, { recursive: true });
        const file = path.join(copy.path, 'store.db');
        const bytes = await readFile(file);
        const start = Math.floor(place * bytes.length);
        for (let at = start; at < Math.min(start + length, bytes.length); at++) bytes[at] = change === 0 ? 0 : bytes[at]! ^ change;
        await writeFile(file, bytes);
        found += await readAll(copy.path);
      }),
      { numRuns: 100 },
    );
    expect(found).toBeGreaterThan(0);
  });

  /** Returns 1 if damage was reported. */
  async function readAll(directory: string): Promise<number> {
    let store: Store;
    try {
      store = await openSqliteStore({ directory });
    } catch (error) {
      expect(error).toBeInstanceOf(StoreError);
      expect((error as StoreError).message).not.toContain('undefined');
      return 1;
    }
    await using opened = store;
    let damaged = opened.failure === undefined ? 0 : 1;
    for (const [key, value] of written) {
      try {
        const entry = await opened.get(key);
        if (opened.failure === undefined) expect(entry?.value).toBe(value);
        else if (entry !== undefined) expect(entry.value).toBe(value);
      } catch (error) {
        expect(error).toMatchObject({ code: 'corrupt' });
        damaged = 1;
      }
    }
    try {
      const { entries } = await opened.list(everything);
      if (damaged === 0) expect(new Map(entries.map((entry) => [entry.key, entry.value]))).toEqual(written);
    } catch (error) {
      expect(error).toMatchObject({ code: 'corrupt' });
      damaged = 1;
    }
    if (damaged === 1) await expect(opened.create('/new', 'x')).rejects.toMatchObject({ code: 'corrupt' });
    return damaged;
  }

  it('loses only unsynced writes when the end of the write-ahead log is torn', async () => {
    using directory = temporaryDirectory('torn');
    using copy = temporaryDirectory('torn-copy');
    const revisions: number[] = [];
    {
      await using store = await openSqliteStore({ directory: directory.path });
      for (let index = 0; index < 20; index++) revisions.push(await store.create(`/${index}`, 'x'.repeat(2000)));
      // As after a power cut: the files as they are now, without a close.
      await cp(directory.path, copy.path, { recursive: true });
    }
    expect(await readdir(copy.path)).toContain('store.db-wal');
    const log = path.join(copy.path, 'store.db-wal');
    const bytes = await readFile(log);
    await writeFile(log, bytes.subarray(0, bytes.length - 5000));
    await using store = await openSqliteStore({ directory: copy.path });
    const { entries } = await store.list(everything);
    expect(entries.length).toBeGreaterThan(0);
    expect(entries.map((entry) => entry.revision).toSorted((a, b) => a - b)).toEqual(revisions.slice(0, entries.length));
    expect(await store.currentRevision()).toBe(revisions[entries.length - 1]);
  });
});
