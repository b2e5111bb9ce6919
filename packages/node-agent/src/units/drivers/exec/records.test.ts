import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { encodePairs } from './pairs.ts';
import { UnitRecords } from './records.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-records-'));
const records = new UnitRecords(directory);
afterAll(() => rmSync(directory, { recursive: true }));

/** What a power failure left of the first start of a unit. */
function left(id: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(records.folder(id, 0), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(records.folder(id, 0), name), text);
}

test('a start is recorded once, and nothing but its record is left', async () => {
  expect([await records.create('once', 0), await records.create('once', 0)]).toEqual([true, false]);
  expect(readdirSync(records.folder('once'))).toEqual(['0']);
  expect(await records.state('once', 0)).toEqual({ phase: 'lost', message: 'it was about to start when the agent ended' });
});

test('an agent that was killed while it recorded a start does not prevent it', async () => {
  mkdirSync(join(directory, '.draft'));
  writeFileSync(join(directory, '.draft/boot'), 'half');
  expect([await records.ids(), await records.incarnations('draft')]).toEqual([['once'], []]);
  expect(await records.create('draft', 0)).toBe(true);
  expect(await records.state('draft', 0)).toMatchObject({ message: 'it was about to start when the agent ended' });
  mkdirSync(join(directory, '.draft'));
  await records.delete('draft');
  expect(readdirSync(directory)).toEqual(['once']);
});

test('after a power failure, an end that was recorded counts, whatever else is missing', async () => {
  const exit = encodePairs(Object.entries({ code: 3, reason: 'Error', finishedAt: '2031-01-01T00:00:00Z', cpuSeconds: 1 }));
  left('ended', { exit: exit.toString() });
  expect(await records.state('ended', 0)).toMatchObject({ phase: 'exited', code: 3, reason: 'Error' });
  expect(await records.create('ended', 0)).toBe(false);
});

test('after a power failure, a file without its content is that of an earlier start of the machine', async () => {
  left('emptied', { boot: '', monitor: '', started: '' });
  expect(await records.state('emptied', 0)).toEqual({ phase: 'lost', message: 'the machine restarted' });
  expect(await records.create('emptied', 0)).toBe(false);
});

test('after a power failure, an empty folder is no start', async () => {
  left('empty', {});
  expect(await records.state('empty', 0)).toBeUndefined();
  expect(await records.create('empty', 0)).toBe(true);
});
