import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { closeSizedFolder, openSizedFolder, reopenSizedFolder, type SizedFolder, sizeLater, whyNoSizes } from './sized-folder.ts';

const mebibyte = 2 ** 20;

describeUnless(await whyNoSizes(), 'a folder with a size', () => {
  let directory: string;
  let folder: SizedFolder;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'capstan-sized-'));
    folder = { image: join(directory, 'image'), point: join(directory, 'point') };
    mkdirSync(folder.point, { mode: 0o711 });
    writeFileSync(join(folder.point, 'before'), 'before');
  });
  afterEach(async () => {
    await closeSizedFolder(folder);
    rmSync(directory, { recursive: true });
  });
  const open = (size = 64 * mebibyte): Promise<void> => openSizedFolder(folder, { size, spare: () => 0 });

  test('has the files that it had, takes no more than its size, and is what it was when it is closed', async () => {
    await open();
    expect(readdirSync(folder.point)).toEqual(['before']);
    expect(statSync(folder.point).mode & 0o777).toBe(0o711);
    expect(() => writeFileSync(join(folder.point, 'large'), Buffer.alloc(80 * mebibyte, 1))).toThrow('ENOSPC');
    writeFileSync(join(folder.point, 'before'), 'after');
    await closeSizedFolder(folder);
    await closeSizedFolder(folder);
    expect(readFileSync(join(folder.point, 'before'), 'utf8')).toBe('before');
    expect(existsSync(folder.image)).toBe(false);
  });

  test('is mounted again after the machine has restarted', async () => {
    await open();
    writeFileSync(join(folder.point, 'kept'), 'kept');
    execFileSync('umount', [folder.point]);
    await reopenSizedFolder(folder);
    await reopenSizedFolder(folder);
    expect(readFileSync(join(folder.point, 'kept'), 'utf8')).toBe('kept');
  });

  test('can be made before its place is known, and leaves nothing if that does not come', async () => {
    const options = { size: 64 * mebibyte, spare: () => 0 };
    const place = Promise.withResolvers<string>();
    const sized = sizeLater(folder.image, place.promise, options);
    await expect.poll(() => existsSync(`${folder.image}.mount`)).toBe(true);
    place.resolve(folder.point);
    await sized;
    expect([readdirSync(folder.point), readdirSync(directory).sort()]).toEqual([['before'], ['image', 'point']]);
    await closeSizedFolder(folder);
    await expect(sizeLater(folder.image, Promise.reject(new Error('no place')), options)).rejects.toThrow();
    await closeSizedFolder(folder);
    expect(readdirSync(directory)).toEqual(['point']);
  });

  test('takes at most a quarter of the free space, and is refused if that is almost nothing', async () => {
    // Others use the disk, too.
    const free = (left: number) => () => {
      const { bavail, bsize } = statfsSync(directory);
      return bavail * bsize - left;
    };
    await openSizedFolder(folder, { size: 2 ** 40, spare: free(400 * mebibyte) });
    expect(statSync(folder.image).size).toBeLessThanOrEqual(110 * mebibyte);
    await closeSizedFolder(folder);
    await expect(openSizedFolder(folder, { size: 2 ** 40, spare: free(40 * mebibyte) })).rejects.toMatchObject({ name: 'NoSpace' });
    expect(existsSync(folder.image)).toBe(false);
  });
});
