import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ArchiveParts, buildArchive } from './archive.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-archive-'));
const at = (...parts: string[]): string => join(directory, ...parts);
let parts: ArchiveParts;

beforeAll(() => {
  mkdirSync(at('bundle/lib'), { recursive: true });
  writeFileSync(at('bundle/lib/main.js'), 'console.log("hello")');
  writeFileSync(at('node'), 'a program');
  parts = { platform: 'linux-x64', version: '0.1.0', bundle: at('bundle'), runtime: { program: at('node') } };
});
afterAll(() => rmSync(directory, { recursive: true }));

test('the same contents produce the same bytes, and are not packed again', async () => {
  const one = await buildArchive(at('one'), parts);
  const other = await buildArchive(at('other'), parts);
  expect(one).toEqual(other);
  const bytes = readFileSync(at('one', one.file));
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(one.sha256);
  expect(bytes.length).toBe(one.size);
  expect(await buildArchive(at('one'), parts)).toEqual(one);
  const listed = execFileSync('tar', ['-tzf', at('one', one.file)], { encoding: 'utf8' })
    .trim()
    .split('\n');
  expect(listed.filter((path) => !path.endsWith('/'))).toEqual([
    'bin/capstan',
    'bin/launch',
    'bin/node',
    'dist/lib/main.js',
    'package.json',
  ]);
});

test('other contents are another version, and replace the archive', async () => {
  const before = await buildArchive(at('changing'), parts);
  writeFileSync(at('bundle/lib/main.js'), 'console.log("goodbye")');
  const after = await buildArchive(at('changing'), parts);
  expect(after.version).not.toBe(before.version);
  expect(readdirSync(at('changing')).sort()).toEqual([after.file, 'linux-x64.json'].sort());
});

test('all platforms have the same version', async () => {
  writeFileSync(at('node-arm'), 'another program');
  const x64 = await buildArchive(at('both'), parts);
  const arm64 = await buildArchive(at('both'), { ...parts, platform: 'linux-arm64', runtime: { program: at('node-arm') } });
  expect(arm64.version).toBe(x64.version);
  expect(arm64.sha256).not.toBe(x64.sha256);
});

test('a build that was named stays until the contents change', async () => {
  const named = await buildArchive(at('named'), { ...parts, build: 'second' });
  expect(named.version).toBe('0.1.0+second');
  expect((await buildArchive(at('named'), parts)).version).toBe('0.1.0+second');
  expect((await buildArchive(at('named'), { ...parts, build: 'third' })).version).toBe('0.1.0+third');
});

test('an archive that was damaged is built again', async () => {
  const built = await buildArchive(at('damaged'), parts);
  writeFileSync(at('damaged', built.file), Buffer.alloc(built.size));
  expect(await buildArchive(at('damaged'), parts)).toEqual(built);
  expect(readFileSync(at('damaged', built.file)).length).toBe(built.size);
});
