import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { type Entry, tar } from './tar.ts';

const entries: readonly Entry[] = [
  { path: 'usr/bin/tool', type: 'file', mode: 0o755, content: Buffer.from('#!/bin/sh\n') },
  { path: 'usr/bin/alias', type: 'link', target: 'tool' },
  { path: 'var/data', type: 'directory', mode: 0o700, owner: 65532 },
  { path: `${'deep/'.repeat(30)}${'n'.repeat(60)}`, type: 'file', content: Buffer.alloc(512, 'x') },
];

function list(archive: Buffer): string[] {
  return execFileSync('tar', ['--list', '--verbose', '--numeric-owner', '--utc', '--file', '-'], {
    input: archive,
    env: { ...process.env, LC_ALL: 'C' },
    encoding: 'utf8',
  })
    .trim()
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' '));
}

test('writes archives that other programs read, with the parent directories of each entry', () => {
  const listed = list(tar(entries));
  expect(listed).toContain('-rwxr-xr-x 0/0 10 1970-01-01 00:00 usr/bin/tool');
  expect(listed).toContain('lrwxrwxrwx 0/0 0 1970-01-01 00:00 usr/bin/alias -> tool');
  expect(listed).toContain('drwx------ 65532/65532 0 1970-01-01 00:00 var/data/');
  expect(listed).toContain('drwxr-xr-x 0/0 0 1970-01-01 00:00 usr/');
  expect(listed).toContain(`-rw-r--r-- 0/0 512 1970-01-01 00:00 ${entries[3]!.path}`);
});

test('writes a directory before its content', () => {
  const paths = list(tar(entries)).map((line) => line.split(' ')[5]!);
  expect(paths.indexOf('usr/')).toBeLessThan(paths.indexOf('usr/bin/'));
  expect(paths.indexOf('usr/bin/')).toBeLessThan(paths.indexOf('usr/bin/tool'));
});

test('does not depend on the order of the entries', () => {
  expect(tar(entries.toReversed())).toEqual(tar(entries));
});

test('names a path that does not fit', () => {
  expect(() => tar([{ path: 'n'.repeat(101), type: 'directory' }])).toThrow('fits into a tar header');
});
