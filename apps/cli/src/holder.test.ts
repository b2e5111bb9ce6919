import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { holdDirectory } from './holder.ts';

test('names the holder of a directory that is in use', () => {
  using directory = temporaryDirectory('holder');
  using _held = holdDirectory(directory.path);
  expect(() => holdDirectory(directory.path)).toThrow(
    new RegExp(`is in use by another "capstan up": process ${process.pid}, since \\d{4}-`),
  );
});

test('holds a directory again after it was released', () => {
  using directory = temporaryDirectory('holder');
  holdDirectory(directory.path)[Symbol.dispose]();
  expect(existsSync(directory.join('up.lock'))).toBe(false);
  using _again = holdDirectory(directory.path);
  expect(existsSync(directory.join('up.lock'))).toBe(true);
});

test.each([
  ['a process that has ended', JSON.stringify({ pid: 2 ** 22 + 1, began: '1', since: 'then' })],
  ['an earlier process with the same id', JSON.stringify({ pid: process.pid, began: '-1', since: 'then' })],
  ['a process that died while writing it', '{"pid":'],
])('ignores a lock file left by %s', (_who, mark) => {
  using directory = temporaryDirectory('holder');
  writeFileSync(directory.join('up.lock'), mark);
  using _held = holdDirectory(directory.path);
  expect(JSON.parse(readFileSync(directory.join('up.lock'), 'utf8'))).toMatchObject({ pid: process.pid });
});
