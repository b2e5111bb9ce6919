import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KeptLog } from './kept-log.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'capstan-log-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** As conmon does it. */
function begin(content: string): void {
  writeFileSync(join(folder, 'draft'), content);
  renameSync(join(folder, 'draft'), KeptLog.path(folder));
}
const contents = async (log: KeptLog): Promise<string[]> => (await log.files()).map((file) => readFileSync(file, 'utf8'));

test('the file before the newest is kept, and no more', async () => {
  const log = new KeptLog(folder);
  expect(await contents(log)).toEqual([]);
  for (const [content, expected] of [
    ['one', ['one']],
    ['two', ['one', 'two']],
    ['three', ['two', 'three']],
  ] as const) {
    begin(content);
    expect(await contents(log)).toEqual(expected);
  }
});

test('files are kept while nobody reads them, and by the next agent', async () => {
  begin('one');
  const log = new KeptLog(folder);
  log.keep();
  await expect.poll(() => contents(new KeptLog(folder))).toEqual(['one']);
  begin('two');
  await expect.poll(() => readdirSync(folder).length).toBe(3);
  log.close();
  expect(await contents(new KeptLog(folder))).toEqual(['one', 'two']);
});
