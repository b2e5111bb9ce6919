import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { holdDirectory } from './holder.ts';

test('a directory that is held names its holder to the second who asks', () => {
  using directory = temporaryDirectory('holder');
  using _held = holdDirectory(directory.path);
  expect(() => holdDirectory(directory.path)).toThrow(new RegExp(`is held by another "capstan up": process ${process.pid}, since \\d{4}-`));
});

test('a directory that was let go can be held again', () => {
  using directory = temporaryDirectory('holder');
  holdDirectory(directory.path)[Symbol.dispose]();
  expect(existsSync(directory.join('up.lock'))).toBe(false);
  using _again = holdDirectory(directory.path);
  expect(existsSync(directory.join('up.lock'))).toBe(true);
});

test.each([
  ['a process that is gone', JSON.stringify({ pid: 2 ** 22 + 1, began: '1', since: 'then' })],
  ['an earlier process with the same id', JSON.stringify({ pid: process.pid, began: '-1', since: 'then' })],
  ['nobody, cut short while it was written', '{"pid":'],
])('a mark left by %s does not count', (_who, mark) => {
  using directory = temporaryDirectory('holder');
  writeFileSync(directory.join('up.lock'), mark);
  using _held = holdDirectory(directory.path);
  expect(JSON.parse(readFileSync(directory.join('up.lock'), 'utf8'))).toMatchObject({ pid: process.pid });
});
