import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prefixRange } from '../keys.ts';
import { openSqliteStore } from './open.ts';
import { restoreSqliteSnapshot } from './restore.ts';

const everything = prefixRange('/');
let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'capstan-directory-'));
});
afterEach(() => rm(root, { recursive: true }));
const at = (...parts: string[]): string => path.join(root, ...parts);

describe('the directory of a SQLite store', () => {
  it('is created if missing, accessible to its owner only', async () => {
    await using store = await openSqliteStore({ directory: at('deep', 'store') });
    await store.create('/a', '1');
    expect((await stat(at('deep', 'store'))).mode & 0o777).toBe(0o700);
  });

  it('allows one process at a time, and names it to a second one', async () => {
    await using first = await openSqliteStore({ directory: at('s') });
    await expect(openSqliteStore({ directory: at('s') })).rejects.toMatchObject({
      code: 'locked',
      message: expect.stringMatching(new RegExp(`in use by process ${process.pid} on host \\S+ since \\d{4}-`)),
    });
    const program = `const { openSqliteStore } = await import(${JSON.stringify(new URL('./open.ts', import.meta.url).href)});
      await openSqliteStore({ directory: ${JSON.stringify(at('s'))} }).catch((error) => console.log(error.code));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
    expect(stdout.trim()).toBe('locked');
    expect(await first.create('/a', '1')).toBeGreaterThan(0);
  });

  it('can be opened again after close, which removes the owner file', async () => {
    await (await openSqliteStore({ directory: at('s') }))[Symbol.asyncDispose]();
    expect(await readdir(at('s'))).toEqual(['store.db']);
    await using again = await openSqliteStore({ directory: at('s') });
    expect(again.failure).toBeUndefined();
  });

  it('closes with its signal', async () => {
    const controller = new AbortController();
    const store = await openSqliteStore({ directory: at('s'), signal: controller.signal });
    const write = store.create('/a', '1');
    controller.abort();
    await write;
    await expect(store.create('/b', '1')).rejects.toMatchObject({ code: 'closed' });
    await store[Symbol.asyncDispose]();
    await expect(openSqliteStore({ directory: at('s'), signal: controller.signal })).rejects.toThrow('aborted');
  });

  it('is rejected if the file belongs to another application', async () => {
    await mkdir(at('s'));
    const other = new DatabaseSync(at('s', 'store.db'));
    other.exec('CREATE TABLE theirs (x)');
    other.close();
    await expect(openSqliteStore({ directory: at('s') })).rejects.toThrow('a database of another application');
  });

  it('is rejected if a later version wrote the file', async () => {
    await (await openSqliteStore({ directory: at('s') }))[Symbol.asyncDispose]();
    const file = new DatabaseSync(at('s', 'store.db'));
    file.exec('PRAGMA user_version = 99');
    file.close();
    await expect(openSqliteStore({ directory: at('s') })).rejects.toThrow('format 99');
  });

  it('is rejected as corrupt if the file is not a database', async () => {
    await mkdir(at('s'));
    await writeFile(at('s', 'store.db'), 'this is not a database, but it is long enough to be one'.repeat(100));
    await expect(openSqliteStore({ directory: at('s') })).rejects.toMatchObject({
      code: 'corrupt',
      message: expect.stringContaining('restore the newest snapshot'),
    });
  });
});

describe('a snapshot', () => {
  it('contains everything up to its revision, and restores history and counter', async () => {
    let revision: number;
    {
      await using store = await openSqliteStore({ directory: at('s') });
      const a = await store.create('/a', '1');
      await store.update('/a', '2', a);
      revision = await store.create('/b', '1');
      const info = await store.snapshot(at('snapshot.db'));
      expect(info).toEqual({ revision, keys: 2, bytes: (await stat(at('snapshot.db'))).size });
      await store.create('/later', '1');
    }
    expect(await restoreSqliteSnapshot(at('snapshot.db'), at('restored'))).toMatchObject({ revision, keys: 2 });
    await using restored = await openSqliteStore({ directory: at('restored') });
    expect((await restored.list(everything)).entries.map(({ key, value }) => key + value)).toEqual(['/a2', '/b1']);
    expect((await restored.list(everything, { revision: revision - 2 })).entries.map(({ key, value }) => key + value)).toEqual(['/a1']);
    expect(await restored.create('/next', '1')).toBe(revision + 1);
  });

  it('replaces an older file only when it is complete', async () => {
    await using store = await openSqliteStore({ directory: at('s') });
    await store.create('/a', '1');
    await store.snapshot(at('snapshot.db'));
    await store.create('/b', '1');
    expect((await store.snapshot(at('snapshot.db'))).keys).toBe(2);
    await expect(store.snapshot(at('none', 'snapshot.db'))).rejects.toThrow(at('none', 'snapshot.db'));
    expect(store.failure).toBeUndefined();
    expect((await readdir(root)).toSorted()).toEqual(['s', 'snapshot.db']);
    await store.create('/c', '1');
  });

  it('is not restored over existing files', async () => {
    await using store = await openSqliteStore({ directory: at('s') });
    await store.snapshot(at('snapshot.db'));
    await expect(restoreSqliteSnapshot(at('snapshot.db'), at('s'))).rejects.toMatchObject({ code: 'exists' });
  });

  it('is rejected if a byte of it has changed, and leaves the directory empty', async () => {
    {
      await using store = await openSqliteStore({ directory: at('s') });
      await store.create('/a', `"${'x'.repeat(500)}"`);
      await store.snapshot(at('snapshot.db'));
    }
    const bytes = await readFile(at('snapshot.db'));
    bytes[bytes.indexOf('xxxx') + 100] = 'y'.charCodeAt(0);
    await writeFile(at('snapshot.db'), bytes);
    await expect(restoreSqliteSnapshot(at('snapshot.db'), at('restored'))).rejects.toMatchObject({ code: 'corrupt' });
    expect(await readdir(at('restored'))).toEqual([]);
  });
});

describe('a damaged file', () => {
  it('is detected when the value is read; writes stop, other reads still work', async () => {
    const directory = at('s');
    {
      await using store = await openSqliteStore({ directory });
      await store.create('/bad', `"${'b'.repeat(500)}"`);
      await store.create('/good', `"${'g'.repeat(500)}"`);
    }
    const file = path.join(directory, 'store.db');
    const bytes = await readFile(file);
    bytes[bytes.indexOf('bbbb') + 100] = 'c'.charCodeAt(0);
    await writeFile(file, bytes);
    await using store = await openSqliteStore({ directory });
    await expect(store.get('/bad')).rejects.toMatchObject({ code: 'corrupt', message: expect.stringContaining('/bad') });
    expect(store.failure).toMatchObject({ code: 'corrupt' });
    await expect(store.create('/new', '1')).rejects.toMatchObject({ code: 'corrupt', message: expect.stringContaining('restore') });
    expect((await store.get('/good'))?.value).toContain('ggg');
  });

  it('is detected at the start if its structure is broken', async () => {
    const directory = at('s');
    {
      await using store = await openSqliteStore({ directory });
      await Promise.all(Array.from({ length: 500 }, (_, index) => store.create(`/k/${index}`, 'v'.repeat(1000))));
    }
    const file = path.join(directory, 'store.db');
    const bytes = await readFile(file);
    // Zero the header of a page in the middle.
    bytes.fill(0, 4096 * 20, 4096 * 20 + 16);
    await writeFile(file, bytes);
    await using store = await openSqliteStore({ directory });
    expect(store.failure).toMatchObject({ code: 'corrupt' });
    await expect(store.create('/new', '1')).rejects.toMatchObject({ code: 'corrupt' });
  });
});
