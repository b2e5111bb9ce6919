import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { temporaryDirectory } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { expect, test } from 'vitest';
import { mountAt } from '../../disks/mounts.ts';
import { closeSizedFolder, whyNoSizes } from '../../disks/sized-folder.ts';
import { uploadRoom } from '../engine/removal.ts';
import { UploadRooms } from './rooms.ts';
import { unpackUpload } from './unpack.ts';

const size = { size: 64 << 20, spare: () => 0 };

describeUnless(await whyNoSizes(), 'the folder of an upload', () => {
  test('is made before the files come, is used once, and is made again after a broken upload', async () => {
    using directory = temporaryDirectory('rooms');
    const place = uploadRoom(directory.path);
    await using rooms = new UploadRooms({ folder: () => directory.path, size });
    const upload = (archive: Buffer): Promise<void> =>
      unpackUpload(Readable.from([archive]), directory.path, {
        limits: { bytes: 1 << 20, entries: 10 },
        room: 'made',
        signal: new AbortController().signal,
      });
    try {
      expect(await rooms.take('u-1')).toBe(false);
      for (let times = 0; times < 3; times++) rooms.begin('u-1');
      expect([await rooms.take('u-1'), await rooms.take('u-1')]).toEqual([true, false]);
      expect(await mountAt(place.point)).toBeDefined();
      expect(readdirSync(place.point)).toEqual([]);
      await expect(upload(Buffer.from('no archive'))).rejects.toThrow('no gzip archive');
      expect(await mountAt(place.point)).toBeUndefined();
      rooms.begin('u-1');
      expect(await rooms.take('u-1')).toBe(true);
      await upload(gzipSync(execFileSync('tar', ['-c', '-C', import.meta.dirname, 'rooms.ts'])));
      expect(readFileSync(`${place.point}/rooms.ts`, 'utf8')).toContain('UploadRooms');
    } finally {
      await closeSizedFolder(place);
    }
  });

  test('is not being made any more when a unit is removed', async () => {
    using directory = temporaryDirectory('rooms');
    const place = uploadRoom(directory.path);
    await using rooms = new UploadRooms({ folder: () => directory.path, size });
    rooms.begin('u-1');
    await rooms.end('u-1');
    await closeSizedFolder(place);
    expect([await mountAt(place.point), existsSync(place.image)]).toEqual([undefined, false]);
  });
});

test('without sizes there is nothing to make', async () => {
  await using rooms = new UploadRooms({ folder: () => '/nowhere', size: undefined });
  rooms.begin('u-1');
  expect(await rooms.take('u-1')).toBe(false);
});
