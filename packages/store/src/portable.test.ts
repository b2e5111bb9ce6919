import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from './contract.ts';
import { prefixRange } from './keys.ts';
import { exportStore, importStore } from './portable.ts';
import { openSqliteStore, startRevisionsAfter } from './sqlite/open.ts';

describe('a portable export', () => {
  let directory: string;
  let store: Store;
  const file = (): string => path.join(directory, 'export.jsonl');

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'capstan-portable-'));
    store = await openSqliteStore({ directory: path.join(directory, 'a') });
    await Promise.all(
      Array.from({ length: 1200 }, (_, index) => store.create(`/k/${index}`, JSON.stringify({ index, text: 'ü\n\u2028\u{1f680}' }))),
    );
  });

  afterEach(async () => {
    await store[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  async function withEmptyStore(use: (other: Store) => Promise<void>): Promise<void> {
    await using other = await openSqliteStore({ directory: path.join(directory, 'b') });
    await use(other);
  }

  it('moves every key to another store', async () => {
    const info = await exportStore(store, file());
    expect(info).toMatchObject({ keys: 1200, revision: await store.currentRevision() });
    await withEmptyStore(async (other) => {
      expect(await importStore(other, file())).toEqual({ keys: 1200 });
      const text = async (from: Store) => (await from.list(prefixRange(''))).entries.map(({ key, value }) => [key, value]);
      expect(await text(other)).toEqual(await text(store));
    });
  });

  it('expires watches from before it, if the store begins beyond its revisions', async () => {
    const { revision } = await exportStore(store, file());
    await startRevisionsAfter(path.join(directory, 'b'), revision + 1_000);
    await withEmptyStore(async (other) => {
      await importStore(other, file());
      expect(await other.currentRevision()).toBe(revision + 1_000 + 1_200);
      expect(await other.compactedRevision()).toBe(revision + 1_000 + 1_200);
    });
    await expect(startRevisionsAfter(path.join(directory, 'b'), 1)).rejects.toThrow('is not empty');
  });

  it('is not imported into a store that is not empty', async () => {
    await exportStore(store, file());
    await expect(importStore(store, file())).rejects.toMatchObject({ code: 'exists' });
  });

  it.each([
    ['truncated', (text: string) => text.slice(0, text.length / 2)],
    ['missing its last line', (text: string) => text.slice(0, text.lastIndexOf('{'))],
    ['changed in one letter', (text: string) => text.replace('/k/77"', '/k/7x"')],
    ['missing one key', (text: string) => text.split('\n').toSpliced(5, 1).join('\n')],
    ['of another format', () => '{"kind":"List"}\n'],
    ['of a later version', (text: string) => text.replace('"version":1', '"version":2')],
  ])('is rejected when it is %s, and nothing is imported', async (_, damage) => {
    await exportStore(store, file());
    await writeFile(file(), damage(await readFile(file(), 'utf8')));
    await withEmptyStore(async (other) => {
      await expect(importStore(other, file())).rejects.toMatchObject({ code: 'damaged' });
      expect((await other.list(prefixRange(''))).entries).toEqual([]);
    });
  });
});
