import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { openCleaned, RememberedNames } from './remembered.ts';

const isName = (name: string): boolean => /^[a-z0-9]+$/.test(name);

test('keeps the latest names, also for the next agent', async () => {
  using directory = temporaryDirectory('remembered');
  const options = { file: directory.join('names'), limit: 3, isName };
  await using first = await RememberedNames.open(options);
  for (const name of ['a', 'b', 'c', 'd']) await first.add(name);
  expect(['a', 'b', 'c', 'd'].map((name) => first.has(name))).toEqual([false, true, true, true]);
  // A write that a crash has cut short.
  appendFileSync(options.file, '\nE?');
  await using next = await RememberedNames.open(options);
  await next.add('f');
  expect(['b', 'c', 'd', 'f'].map((name) => next.has(name))).toEqual([false, true, true, true]);
});

test('shortens a file that has grown', async () => {
  using directory = temporaryDirectory('remembered');
  const file = directory.join('names');
  writeFileSync(file, 'a\n\nb\n\nc\n\nd\n\ne\n');
  await using names = await RememberedNames.open({ file, limit: 2, isName });
  expect([names.has('c'), names.has('d'), names.has('e')]).toEqual([false, true, true]);
  expect(readFileSync(file, 'utf8')).toBe('d\ne\n');
});

test('forgets a name that was only noted when the agent ends', async () => {
  using directory = temporaryDirectory('remembered');
  await using first = await openCleaned(directory.path);
  first.note('0b6d-1');
  await first.add('0b6d-2');
  await using next = await openCleaned(directory.path);
  expect([first.has('0b6d-1'), next.has('0b6d-1'), next.has('0b6d-2')]).toEqual([true, false, true]);
});
