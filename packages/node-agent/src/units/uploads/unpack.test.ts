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
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { closeSizedFolder, whyNoSizes } from '../../disks/sized-folder.ts';
import { uploadRoom } from '../engine/removal.ts';
import { unpackUpload } from './unpack.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-uploads-'));
afterAll(() => rmSync(directory, { recursive: true }));
let count = 0;
let folder: string;
beforeEach(() => {
  folder = join(directory, `unit-${count++}`);
});
const at = (...path: string[]): string => join(folder, 'uploads', ...path);
const limits = { bytes: 1 << 20, entries: 100 };
const unpack = (bytes: Buffer, more = limits): Promise<void> =>
  unpackUpload(Readable.from([bytes]), folder, { limits: more, signal: new AbortController().signal });

interface Entry {
  readonly name: string;
  readonly type?: string;
  readonly target?: string;
  readonly content?: string;
  readonly mode?: string;
  readonly size?: string;
}

/** One entry as tar programs write it, right or wrong. */
function entry({ name, type = '0', target = '', content = '', mode = '0000644', size }: Entry): Buffer {
  const block = Buffer.alloc(512);
  block.write(name, 0);
  block.write(`${mode}\0`, 100);
  block.write(`${size ?? content.length.toString(8).padStart(11, '0')}\0`, 124);
  block.write('        ', 148);
  block.write(type, 156);
  block.write(target, 157);
  block.write('ustar\u000000', 257);
  block.write(
    `${block
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  );
  const body = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  body.write(content);
  return Buffer.concat([block, body]);
}
const archive = (...entries: Entry[]): Buffer => gzipSync(Buffer.concat([...entries.map(entry), Buffer.alloc(1024)]));

describe('an upload', () => {
  test.each(['ustar', 'gnu', 'pax'])('of the tar program in the format %s is unpacked', async (format) => {
    const source = join(directory, `source-${format}`);
    const deep = format === 'ustar' ? 'deep' : 'a'.repeat(90);
    mkdirSync(join(source, deep, deep, 'x'), { recursive: true });
    writeFileSync(join(source, 'run.sh'), '#!/bin/sh\necho hi\n', { mode: 0o755 });
    writeFileSync(join(source, deep, deep, 'x', 'größe.txt'), 'ü'.repeat(5_000));
    symlinkSync('../run.sh', join(source, deep, 'link'));
    execFileSync('ln', [join(source, 'run.sh'), join(source, 'same.sh')]);
    await unpack(execFileSync('tar', ['-czf', '-', `--format=${format}`, '-C', source, '.'], { maxBuffer: 1 << 24 }));
    expect(readFileSync(at('run.sh'), 'utf8')).toContain('echo hi');
    expect(lstatSync(at('run.sh')).mode & 0o777).toBe(0o755);
    expect(readFileSync(at(deep, deep, 'x', 'größe.txt'), 'utf8')).toBe('ü'.repeat(5_000));
    expect(readlinkSync(at(deep, 'link'))).toBe('../run.sh');
    expect(readFileSync(at('same.sh'), 'utf8')).toContain('echo hi');
  });

  test.each<[string, Entry[], string]>([
    ['an absolute path', [{ name: '/etc/cron.d/x', content: 'x' }], 'absolute path'],
    ['a path upwards', [{ name: 'a/../../x', content: 'x' }], 'leads out'],
    ['a link upwards', [{ name: 'x', type: '2', target: '../x' }], 'may lead out'],
    ['an absolute link', [{ name: 'x', type: '2', target: '/etc' }], 'may lead out'],
    ['a link down and up', [{ name: 'x', type: '2', target: 'a/../../y' }], 'may lead out'],
    [
      'a file through a link',
      [
        { name: 'd', type: '5' },
        { name: 'x', type: '2', target: 'd' },
        { name: 'x/y', content: 'x' },
      ],
      'no directory',
    ],
    ['a hard link outside', [{ name: 'x', type: '1', target: '../../record.json' }], 'leads out'],
    ['a hard link to nothing', [{ name: 'x', type: '1', target: 'y' }], 'which is no file'],
    [
      'a hard link through a link',
      [
        { name: 'x', type: '2', target: 'd' },
        { name: 'z', type: '1', target: 'x/y' },
      ],
      'is no directory',
    ],
    ['a character device', [{ name: 'null', type: '3' }], 'neither a file'],
    ['a block device', [{ name: 'sda', type: '4' }], 'neither a file'],
    ['a pipe', [{ name: 'pipe', type: '6' }], 'neither a file'],
    [
      'a file in the place of a directory',
      [
        { name: 'd', type: '5' },
        { name: 'd', content: 'x' },
      ],
      'both a directory',
    ],
    ['a number that is none', [{ name: 'x', size: '99999999999' }], 'octal'],
  ])('with %s is refused, and leaves nothing', async (_, entries, message) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'record.json'), 'mine');
    await expect(unpack(archive({ name: 'before', content: 'x' }, ...entries))).rejects.toThrow(message);
    expect([existsSync(at()), existsSync(`${at()}.new`), readFileSync(join(folder, 'record.json'), 'utf8')]).toEqual([
      false,
      false,
      'mine',
    ]);
  });

  test.each([
    [
      'too many bytes',
      archive({ name: 'a', content: 'x'.repeat(600_000) }, { name: 'b', content: 'x'.repeat(600_000) }),
      'more than 1048576 bytes',
    ],
    ['too many entries', archive(...Array.from({ length: 101 }, (_, index) => ({ name: `f${index}` }))), 'more than 100 entries'],
    ['endless zeros behind it', gzipSync(Buffer.alloc(16 << 20)), 'too large'],
    ['no gzip', Buffer.from('hello, world'), 'no gzip archive'],
    ['no tar', gzipSync(Buffer.alloc(2_000, 'x')), 'no tar archive'],
    ['an early end', archive({ name: 'a', content: 'x'.repeat(5_000) }).subarray(0, 60), ''],
    ['an end within a file', gzipSync(entry({ name: 'a', content: 'x'.repeat(5_000) }).subarray(0, 1_024)), 'within a file'],
  ])('with %s is refused', async (_, bytes, message) => {
    await expect(unpack(bytes)).rejects.toThrow(message);
    expect(existsSync(at())).toBe(false);
  });

  test('keeps the files of an earlier one that was complete', async () => {
    await unpack(archive({ name: 'a', content: 'first' }));
    await expect(unpack(archive({ name: 'a', content: 'second' }, { name: '../x' }))).rejects.toThrow('leads out');
    expect(readFileSync(at('a'), 'utf8')).toBe('first');
    await unpack(archive({ name: 'a', content: 'third' }, { name: 'a', content: 'last' }));
    expect(readFileSync(at('a'), 'utf8')).toBe('last');
  });

  test('that is cut off leaves nothing', async () => {
    const stop = new AbortController();
    const endless = Readable.from(
      (async function* () {
        yield archive({ name: 'a', content: 'x' }).subarray(0, 30);
        stop.abort();
        await new Promise(() => {});
      })(),
    );
    await expect(unpackUpload(endless, folder, { limits, signal: stop.signal })).rejects.toThrow('cut off');
    expect(existsSync(`${at()}.new`)).toBe(false);
  });
});

describeUnless(await whyNoSizes(), 'files with a limited size', () => {
  const room = { size: 64 << 20, spare: () => 0 };
  const unpackInto = (bytes: Buffer): Promise<void> =>
    unpackUpload(Readable.from([bytes]), folder, { limits, room, signal: new AbortController().signal });

  test('leave nothing but so much of the disk to the unit, also when they are sent again', async () => {
    await expect(unpackInto(archive({ name: '../out', content: 'x' }))).rejects.toThrow('leads out');
    expect(existsSync(at())).toBe(false);
    await unpackInto(archive({ name: 'file', content: 'first' }));
    await unpackInto(archive({ name: 'file', content: 'second' }));
    expect(readFileSync(at('file'), 'utf8')).toBe('second');
    expect(readdirSync(at())).toEqual(['file']);
    expect(() => writeFileSync(at('large'), Buffer.alloc(80 << 20, 1))).toThrow('ENOSPC');
    await closeSizedFolder(uploadRoom(folder));
    expect(readdirSync(at())).toEqual([]);
  });
});
