import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { defaultLimits, listFiles } from './listing.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-listing-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function put(path: string, content = ''): void {
  mkdirSync(dirname(join(directory, path)), { recursive: true });
  writeFileSync(join(directory, path), content);
}

const pathsOf = (folder = directory): string[] => listFiles(folder).entries.map(({ path }) => path);

test('lists files, empty folders and links in order, without ignored ones and .git', () => {
  put('.git/config');
  put('sub/.git', 'gitdir: elsewhere');
  put('sub/code.py');
  put('.gitignore', '*.pyc\n/data\n');
  put('sub/.gitignore', '!keep.pyc\n');
  put('sub/keep.pyc');
  put('sub/drop.pyc');
  put('data/huge');
  put('b');
  put('B');
  mkdirSync(join(directory, 'empty'));
  symlinkSync('nowhere', join(directory, 'link'));
  expect(pathsOf()).toEqual(['.gitignore', 'B', 'b', 'empty', 'link', 'sub', 'sub/.gitignore', 'sub/code.py', 'sub/keep.pyc']);
  expect(listFiles(directory).entries.find(({ path }) => path === 'link')).toMatchObject({ type: 'link', target: 'nowhere' });
});

test('a folder within a repository obeys the rules above it', () => {
  put('.git/info/exclude', 'secret\n');
  put('.gitignore', '/app/build\n*.o\n');
  put('app/build/x');
  put('app/secret');
  put('app/a.o');
  put('app/a.c');
  put('app/deep/.gitignore', '/only\n');
  put('app/deep/only');
  put('app/deep/more');
  expect(pathsOf(join(directory, 'app'))).toEqual(['a.c', 'deep', 'deep/.gitignore', 'deep/more']);
});

test('names that are not UTF-8 are kept byte by byte', () => {
  writeFileSync(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xff, 0x0a, 0x1b])]), 'x');
  expect(pathsOf()).toEqual(['\xff\n\x1b']);
});

test('leaves out large files, sockets and the data of a Capstan server, and says so', async () => {
  put('small', 'x');
  put('large');
  truncateSync(join(directory, 'large'), 2000);
  symlinkSync('/usr/bin/python3', join(directory, 'python'));
  put('capstan-data/admin.kubeconfig');
  put('capstan-data/pki/ca.key');
  await using server = createServer();
  await new Promise<void>((resolve) => void server.listen(join(directory, 'socket'), resolve));
  const { entries, leftOut } = listFiles(directory, { ...defaultLimits, file: 1000 });
  expect(entries.map(({ path }) => path)).toEqual(['capstan-data', 'small']);
  expect(leftOut.map(({ path, why }) => `${path}: ${why}`)).toEqual([
    'capstan-data: it has the keys of a Capstan server',
    'large: it has 2.0 KiB, and files of more than 1000 B are left out',
    'python: it is a link that leads out of the folder, to /usr/bin/python3',
    'socket: it is neither a file nor a folder nor a link',
  ]);
});

test('too much is an error that names the biggest folders', () => {
  put('data/a', 'x'.repeat(900));
  put('code/b', 'x'.repeat(200));
  put('top', 'x'.repeat(50));
  expect(() => listFiles(directory, { ...defaultLimits, total: 1000 })).toThrow(
    /this folder has 1\.1 KiB, more than the 1000 B .*:\n {2}900 B {2}data\/\n {2}200 B {2}code\/\n {2}50 B {2}\(files at the top\)\n.*--no-upload/s,
  );
  expect(() => listFiles(directory, { ...defaultLimits, count: 2 })).toThrow(/3 files, more than 2\. .*1 files/s);
});

test.skipIf(process.getuid?.() === 0)('a file that cannot be read is an error before anything is sent', () => {
  put('secret', 'x');
  chmodSync(join(directory, 'secret'), 0);
  expect(() => listFiles(directory)).toThrow('secret cannot be read');
});
