import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ArchiveEntry } from './entry.ts';
import { extractArchive, staysInside } from './extract.ts';
import { decodeHeader, encodeHeader } from './header.ts';
import { readArchive } from './read.ts';
import { writeArchive } from './write.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-archive-'));
  mkdirSync(join(directory, 'from'));
  mkdirSync(join(directory, 'to'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const file = (path: string, size: number): ArchiveEntry => ({ path, type: 'file', mode: 0o640, modified: 1_700_000_000, size });
const link = (path: string, target: string): ArchiveEntry => ({ path, type: 'link', mode: 0o777, modified: 0, size: 0, target });
const folder = (path: string): ArchiveEntry => ({ path, type: 'folder', mode: 0o755, modified: 1_700_000_000, size: 0 });

async function bytesOf(entries: readonly ArchiveEntry[]): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of writeArchive({ folder: join(directory, 'from'), entries })) parts.push(part);
  return Buffer.concat(parts);
}

async function* inPieces(bytes: Buffer, size = 100): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

/** An archive of headers alone, such as an attacker would write. */
const forged = (...entries: ArchiveEntry[]): Buffer => Buffer.concat([...entries.map(encodeHeader), Buffer.alloc(1024)]);

const longPath = `${'deep/'.repeat(30)}file-${'n'.repeat(120)}`;
const strange = 'line\nbreak \u001b[31m \xff\xfe';

test('the program tar reads our archives, with long and strange names, and we read them too', async () => {
  const from = join(directory, 'from');
  mkdirSync(join(from, longPath, '..'), { recursive: true });
  writeFileSync(join(from, longPath), 'long');
  writeFileSync(Buffer.from(`${from}/${strange}`, 'latin1'), 'strange');
  writeFileSync(join(from, 'big'), Buffer.alloc(300_000, 'x'));
  writeFileSync(join(from, 'empty'), '');
  const entries = [
    folder('folder'),
    file('big', 300_000),
    file('empty', 0),
    link('link', 'big'),
    file(longPath, 4),
    link('far', `x/${'y'.repeat(150)}`),
  ];
  const bytes = await bytesOf([...entries, file(strange, 7)]);
  expect(bytes.length % 512).toBe(0);
  expect(await bytesOf([...entries, file(strange, 7)])).toEqual(bytes);
  execFileSync('tar', ['-xf', '-', '-C', join(directory, 'to')], { input: bytes });
  const to = join(directory, 'to');
  expect(readFileSync(join(to, longPath), 'utf8')).toBe('long');
  expect(readFileSync(Buffer.from(`${to}/${strange}`, 'latin1'), 'utf8')).toBe('strange');
  expect(readFileSync(join(to, 'big')).length).toBe(300_000);
  expect(readlinkSync(join(to, 'link'))).toBe('big');
  expect(lstatSync(join(to, 'big'))).toMatchObject({ mtimeMs: 1_700_000_000_000, mode: 0o100640 });
  rmSync(to, { recursive: true });
  mkdirSync(to);
  expect(await extractArchive(inPieces(bytes), { folder: to })).toBe(6);
  expect(readFileSync(join(to, longPath), 'utf8')).toBe('long');
  expect(lstatSync(join(to, 'big'))).toMatchObject({ mtimeMs: 1_700_000_000_000, mode: 0o100640 });
});

test.each(['gnu', 'pax', 'ustar'])('reads archives of tar in the format %s', async (format) => {
  const from = join(directory, 'from');
  const name = format === 'ustar' ? `${'d'.repeat(90)}/${'f'.repeat(90)}` : longPath;
  mkdirSync(join(from, name, '..'), { recursive: true });
  writeFileSync(join(from, name), 'content');
  const bytes = execFileSync('tar', [`--format=${format}`, '-cf', '-', '-C', from, '.']);
  await extractArchive(inPieces(bytes, 7), { folder: join(directory, 'to') });
  expect(readFileSync(join(directory, 'to', name), 'utf8')).toBe('content');
});

test('a file that shrinks is filled up, and one that grows is cut', async () => {
  writeFileSync(join(directory, 'from/a'), 'abc');
  writeFileSync(join(directory, 'from/b'), 'abcdef');
  await extractArchive(inPieces(await bytesOf([file('a', 5), file('b', 2)])), { folder: join(directory, 'to') });
  expect(readFileSync(join(directory, 'to/a'), 'utf8')).toBe('abc\0\0');
  expect(readFileSync(join(directory, 'to/b'), 'utf8')).toBe('ab');
});

test('a hostile archive writes nothing outside', async () => {
  const to = join(directory, 'to');
  const skipped: string[] = [];
  const extract = (...entries: ArchiveEntry[]): Promise<number> =>
    extractArchive(inPieces(forged(...entries)), { folder: to, onSkipped: (path) => void skipped.push(path) });
  await extract(file('../evil', 0), file('/tmp/capstan-evil', 0), file('a/../../evil', 0), link('out', '../..'), link('abs', '/etc'));
  expect(skipped).toEqual(['../evil', '/tmp/capstan-evil', 'a/../../evil', 'out', 'abs']);
  expect(readdirSync(to)).toEqual([]);
  expect(existsSync(join(directory, 'evil'))).toBe(false);
  await expect(extract(link('dir', 'sub'), file('dir/evil', 0))).rejects.toThrow('dir exists and is not a folder');
  symlinkSync(directory, join(to, 'planted'));
  await expect(extract(file('planted/evil', 0))).rejects.toThrow('planted exists and is not a folder');
  symlinkSync(join(directory, 'evil'), join(to, 'file'));
  await extract(file('file', 0));
  expect(lstatSync(join(to, 'file')).isFile()).toBe(true);
  expect(existsSync(join(directory, 'evil'))).toBe(false);
  await extract({ ...file('program', 0), mode: 0o4755 });
  expect(lstatSync(join(to, 'program')).mode & 0o7777).toBe(0o755);
});

test.each([
  ['a', 'b', true],
  ['a/b', '../c', true],
  ['a', '../c', false],
  ['a', '..', false],
  ['a/b', '..', true],
  ['a', 'b/../../c', false],
  ['a', 'b/..', false],
  ['a', '/etc', false],
  ['a', '', false],
])('the link %s to %s stays inside: %s', (path, target, expected) => {
  expect(staysInside(path, target)).toBe(expected);
});

test('a damaged or incomplete archive is an error, and never hangs', async () => {
  writeFileSync(join(directory, 'from/a'), 'abc');
  const bytes = await bytesOf([file('a', 3)]);
  const read = async (source: Buffer): Promise<number> => {
    let count = 0;
    for await (const { content } of readArchive(inPieces(source, 512))) {
      count++;
      for await (const _ of content);
    }
    return count;
  };
  expect(await read(bytes)).toBe(1);
  await expect(read(bytes.subarray(0, 600))).rejects.toThrow('incomplete');
  await expect(read(bytes.subarray(0, 1024))).rejects.toThrow('incomplete');
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(255), async (at, value) => {
      const changed = Buffer.from(bytes);
      changed[at] = value;
      await read(changed).catch((error: Error) => expect(error.name).toBe('ArchiveError'));
    }),
  );
});

test('sizes beyond eight gigabytes', () => {
  expect(decodeHeader(encodeHeader(file('a', 9e9)).subarray(-512))).toMatchObject({ size: 9e9, name: 'a' });
});
