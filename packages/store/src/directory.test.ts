import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeDirectory } from './directory.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'capstan-make-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test('creates missing parents too, and returns the directories it created', () => {
  const [a, b, c] = [path.join(root, 'a'), path.join(root, 'a/b'), path.join(root, 'a/b/c')];
  expect(makeDirectory(b)).toEqual([a, b]);
  expect(makeDirectory(c)).toEqual([c]);
  expect(makeDirectory(c)).toEqual([]);
  expect(statSync(a).mode & 0o777).toBe(0o700);
});

test('fails where a file is in the way', () => {
  const file = path.join(root, 'file');
  writeFileSync(file, '');
  expect(() => makeDirectory(file)).toThrow('EEXIST');
  expect(() => makeDirectory(path.join(file, 'x'))).toThrow('ENOTDIR');
});

test('fails immediately where no directory can be created', () => {
  expect(() => makeDirectory('/proc/capstan')).toThrow('ENOENT');
  expect(() => makeDirectory('/proc/capstan/data')).toThrow('ENOENT');
});
