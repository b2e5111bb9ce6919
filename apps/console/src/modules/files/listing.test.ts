import { expect, test } from 'vitest';
import { addressOf, folderAt, mostEntries, parseListing, pathIn, pathParts, shownName } from './listing.ts';

const encoder = new TextEncoder();
const output = (...parts: (string | readonly number[])[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === 'string' ? [...encoder.encode(part)] : part)));

test('reads kinds, sizes, times and names', () => {
  const facts = '41ed 4096 1700000000\n81a4 5 1700000001\n';
  const hidden = '1\na1ff 7 1700000002\n\n./.link\0';
  const { folder, entries } = parseListing(output('/data\0', `2\n${facts}\n./inner\0./file\0`, hidden));
  expect(folder).toBe('/data');
  expect(entries).toEqual([
    { name: 'inner', shown: 'inner', kind: 'folder', size: 4096, changedAt: 1_700_000_000_000 },
    { name: 'file', shown: 'file', kind: 'file', size: 5, changedAt: 1_700_000_001_000 },
    { name: '.link', shown: '.link', kind: 'link', size: 7, changedAt: 1_700_000_002_000 },
  ]);
});

test('reads names that look like the rest of the output', () => {
  const names = ['two\n\nlines', '1\n', '41ed 0 0', '<img src=x>'];
  const { entries } = parseListing(output('/\n\0', `${names.length}\n\n`, ...names.map((name) => `./${name}\0`)));
  expect(entries.map(({ name }) => name)).toEqual(names);
});

test('gives nobody the facts of another file when one vanished', () => {
  const { entries } = parseListing(output('/x\0', '2\n81a4 5 1700000001\n\n./gone\0./file\0'));
  expect(entries.map(({ size, kind }) => [size, kind])).toEqual([
    [undefined, undefined],
    [undefined, undefined],
  ]);
});

test('shows names that are not UTF-8, but cannot name them', () => {
  const { entries } = parseListing(output('/x\0', '1\n\n./a', [0xff], '\0'));
  expect(entries).toMatchObject([{ name: undefined, shown: 'a\ufffd' }]);
});

test('rejects output that is cut short or claims too much', () => {
  expect(() => parseListing(output('/x\0', '2\n\n./a\0'))).toThrow('incomplete');
  expect(() => parseListing(output('/x\0', `${mostEntries + 1}\n\n`))).toThrow('unknown form');
});

test('an empty folder has no entries', () => {
  expect(parseListing(output('/x\0'))).toEqual({ folder: '/x', entries: [] });
});

test('shows characters that deceive as their numbers', () => {
  expect(shownName('a\nb\u202egpj\u001b[2J')).toBe('a\\nb\\u202egpj\\u001b[2J');
  expect(shownName('Größe 模型')).toBe('Größe 模型');
});

test('paths lead from the root to the folder', () => {
  expect(pathIn('/', 'etc')).toBe('/etc');
  expect(pathIn('/data', 'x')).toBe('/data/x');
  expect(pathParts('/data/in', '/').map(({ path }) => path)).toEqual(['/', '/data', '/data/in']);
  expect(pathParts('/volume/in', '/volume')).toEqual([
    { path: '/volume', shown: '/' },
    { path: '/volume/in', shown: 'in' },
  ]);
  expect(pathParts('/etc', '/volume').map(({ path }) => path)).toEqual(['/', '/etc']);
});

test.each([
  ['/', '/data', '/data'],
  ['/volume', '/', '/volume'],
  ['/volume', '/in', '/volume/in'],
])('below %s, the address %s means %s', (root, named, folder) => {
  expect(folderAt(root, named)).toBe(folder);
  expect(addressOf(root, folder)).toBe(named);
});

test('an address that names no folder means none, and a folder outside the root has no address', () => {
  expect([folderAt('/', undefined), folderAt('/', 'data'), folderAt('/', '-rf')]).toEqual([undefined, undefined, undefined]);
  expect([addressOf('/volume', '/etc'), addressOf('/volume', '/volumes')]).toEqual([undefined, undefined]);
});
