import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type LogPlace, placeOfTask, placeOfUnit, type UnitRun } from './places.ts';
import { LogStore, type LogStoreLimits } from './store.ts';

let directory: string;
let now = Date.now();
let missing = new Set<string>();
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-log-store-'));
  missing = new Set();
});
afterEach(() => rmSync(directory, { recursive: true }));

const open = (limits: Partial<LogStoreLimits> = {}): LogStore =>
  new LogStore({ directory, limits, now: () => now, exists: (cluster) => !missing.has(cluster) });
const place = (change: Partial<UnitRun> = {}): LogPlace =>
  placeOfUnit({ cluster: 'tenant', namespace: 'default', nodeUnit: 'uid-1', node: 'n1', incarnation: 0, ...change });
const part = (offset: number, text: string, gap = false) => ({ offset, bytes: Buffer.from(text), gap });
const textOf = async (store: LogStore, at = place()): Promise<string | undefined> =>
  (await store.files(at))?.map((file) => readFileSync(file, 'utf8')).join('');

describe('a log', () => {
  test('grows by parts, and takes each byte once', async () => {
    const store = open();
    expect(await store.append(place(), part(0, 'abc'))).toBe(3);
    expect(await store.append(place(), part(0, 'abc'))).toBe(3);
    expect(await store.append(place(), part(1, 'bcde'))).toBe(5);
    expect(await store.append(place(), part(2, 'c'))).toBe(5);
    expect(await textOf(store)).toBe('abcde');
    expect(await open().append(place(), part(5, 'f'))).toBe(6);
    expect(await textOf(open())).toBe('abcdef');
  });

  test('does not take a part after a gap unless it is said to be one, and then shows it', async () => {
    const store = open();
    await store.append(place(), part(0, 'abc'));
    expect(await store.append(place(), part(10, 'xyz'))).toBe(3);
    expect(await textOf(store)).toBe('abc');
    expect(await store.append(place(), part(10, 'xyz', true))).toBe(13);
    expect(await textOf(store)).toMatch(/^abc\S+ stderr F \[7 bytes of output were lost here\]\nxyz$/);
    expect(await store.append(place(), part(13, '!'))).toBe(14);
  });

  test('may begin anywhere, on a server that has not got its beginning', async () => {
    const store = open();
    expect(await store.append(place(), part(1_000, 'abc'))).toBe(1_003);
    expect(await textOf(store)).toBe('abc');
  });

  test('has the same text whatever is sent twice, late or at the same time', async () => {
    const whole = Buffer.from(Array.from({ length: 400 }, (_, index) => 97 + (index % 26)));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(400), fc.nat(100)), { maxLength: 20 }), async (parts) => {
        const store = open();
        const at = place({ nodeUnit: `u${Math.random()}` });
        await store.append(at, { offset: 0, bytes: whole.subarray(0, 1) });
        await Promise.all(parts.map(([offset, length]) => store.append(at, { offset, bytes: whole.subarray(offset, offset + length) })));
        const text = await textOf(store, at);
        expect(text).toBe(whole.subarray(0, text!.length).toString());
      }),
      { numRuns: 30 },
    );
  });

  test('loses its oldest part when it is too long, also if it consists of gaps', async () => {
    const store = open({ log: 3 << 20 });
    const block = 'x'.repeat(256 << 10);
    for (let index = 0; index < 32; index++) await store.append(place(), part(index * block.length, block));
    const { length } = (await textOf(store))!;
    expect(length).toBeGreaterThan(2 << 20);
    expect(length).toBeLessThanOrEqual(4 << 20);
    const gaps = place({ nodeUnit: 'gaps' });
    for (let index = 0; index < 200; index++) await store.append(gaps, part(index * 10, 'a', true));
    expect((await store.files(gaps))!.length).toBeLessThanOrEqual(130);
  });

  test('is kept for the last runs of a program only', async () => {
    const store = open();
    for (let incarnation = 0; incarnation < 12; incarnation++) await store.append(place({ incarnation }), part(0, `run ${incarnation}`));
    expect(await store.runs(place())).toEqual([9, 10, 11]);
    expect(await textOf(store, place({ incarnation: 11 }))).toBe('run 11');
    expect(await textOf(store, place({ incarnation: 10 }))).toBe('run 10');
    expect(await textOf(store, place({ incarnation: 8 }))).toBeUndefined();
    expect(readdirSync(join(directory, 'tenant/default/uid-1/n1'))).toHaveLength(3);
  });
});

describe('the store', () => {
  test('deletes the oldest logs of a workspace that has too much, and no others', async () => {
    const store = open({ workspace: 1_000 });
    const age = (nodeUnit: string, seconds: number): void => {
      const file = join(directory, 'tenant/default', nodeUnit, 'n1/0/0000000000000000.log');
      utimesSync(file, now / 1_000 - seconds, now / 1_000 - seconds);
    };
    await store.append(place({ cluster: 'other' }), part(0, 'x'.repeat(400)));
    for (const [index, nodeUnit] of ['a', 'b', 'c'].entries()) {
      await store.append(place({ nodeUnit }), part(0, 'x'.repeat(300)));
      age(nodeUnit, 100 - index);
    }
    await store.append(place({ nodeUnit: 'd' }), part(0, 'x'.repeat(300)));
    expect(readdirSync(join(directory, 'tenant/default'))).toEqual(['b', 'c', 'd']);
    expect(await textOf(store, place({ cluster: 'other' }))).toHaveLength(400);
  });

  test('gives every node room of its own for the output of its tasks', async () => {
    const store = open({ workspace: 1_000 });
    const task = (node: string, name: string): LogPlace => placeOfTask({ node, task: name, uid: 'uid', attempt: 1 });
    await store.append(task('quiet', 'only'), part(0, 'quiet'));
    for (let index = 0; index < 9; index++) await store.append(task('noisy', `t${index}`), part(0, 'x'.repeat(300)));
    expect(readdirSync(join(directory, 'node:noisy', 'tasks')).length).toBeLessThan(4);
    expect(await textOf(store, task('quiet', 'only'))).toBe('quiet');
    expect(await textOf(store, task('noisy', 't8'))).toHaveLength(300);
  });

  test('shows lost output of a task as text', async () => {
    const store = open();
    const place = placeOfTask({ node: 'n1', task: 'hello', uid: 'uid', attempt: 1 });
    await store.append(place, part(0, 'abc'));
    await store.append(place, part(10, 'xyz', true));
    expect(await textOf(store, place)).toBe('abc\n[7 bytes of output were lost here]\nxyz');
  });

  test('deletes what is too old, or of a workspace that does not exist', async () => {
    const store = open({ age: 60_000 });
    await store.append(place(), part(0, 'abc'));
    await store.append(place({ cluster: 'gone' }), part(0, 'abc'));
    missing.add('gone');
    await store.sweep();
    expect([await textOf(store), await textOf(store, place({ cluster: 'gone' }))]).toEqual(['abc', undefined]);
    await expect(store.append(place({ cluster: 'gone' }), part(3, 'd'))).rejects.toThrow('its workspace does not exist');
    const before = now;
    now += 120_000;
    await store.sweep();
    now = before;
    expect(await textOf(store)).toBeUndefined();
    await store.append(place(), part(0, 'abc'));
    await store.removeWorkspace('tenant');
    expect(await textOf(store)).toBeUndefined();
  });

  test.each<Partial<UnitRun>>([
    { cluster: '..' },
    { namespace: '../../etc' },
    { nodeUnit: '' },
    { nodeUnit: 'a/b' },
    { node: '.' },
    { incarnation: -1 },
    { incarnation: 1.5 },
    { incarnation: 1e9 },
  ])('has no place %j', async (change) => {
    await expect(open().append(place(change), part(0, 'abc'))).rejects.toThrow(RangeError);
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe.skipIf(process.getuid?.() !== 0)('a store on a full disk', () => {
  test('drops the oldest logs, and refuses a part that fits nowhere', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', directory]);
    try {
      const store = open();
      const block = 'x'.repeat(100 << 10);
      for (let index = 0; index < 12; index++) await store.append(place({ nodeUnit: `u${index}` }), part(0, block));
      expect(await textOf(store, place({ nodeUnit: 'u11' }))).toBe(block);
      expect(await textOf(store, place({ nodeUnit: 'u0' }))).toBeUndefined();
      await expect(store.append(place({ nodeUnit: 'large' }), part(0, block.repeat(6)))).rejects.toMatchObject({ code: 'ENOSPC' });
      expect(await store.append(place({ nodeUnit: 'large' }), part(0, block))).toBe(block.length);
      expect(await textOf(store, place({ nodeUnit: 'large' }))).toBe(block);
    } finally {
      execFileSync('umount', ['-l', directory]);
    }
  });
});
