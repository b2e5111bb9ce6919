import { access, chmod, chown, mkdir, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { whyNoLoops } from './loops.ts';
import { mountAt } from './mounts.ts';
import { runProgram } from './programs.ts';
import { freeSpace, NoSpace, requireSpace, reserveFile } from './space.ts';

/** A folder that is a file system of its own, in a file whose blocks are reserved: nothing in it can use more of the disk, and nobody else its room. */
export interface SizedFolder {
  readonly image: string;
  /** The folder. Files that it has already are copied. */
  readonly point: string;
}

export interface SizeOptions {
  /** In bytes: the size on a disk with enough space. */
  readonly size: number;
  readonly spare: (disk: number) => number;
}

/** Programs that sized folders need. */
const programs = ['mkfs.ext4', 'mount', 'umount', 'fallocate', 'truncate'];
/** In bytes: with less, programs cannot do anything useful. */
const least = 64 << 20;
/** No folder takes more than this part of the free space, so that others get some, too. */
const largestPart = 1 / 4;

/** Why folders cannot have sizes here. */
export const whyNoSizes = (): Promise<string | undefined> => whyNoLoops(programs);

/** Gives a folder a size. Rejects with NoSpace if the disk has almost none. What an earlier attempt has left must have been closed. */
export async function openSizedFolder({ image, point }: SizedFolder, { size, spare }: SizeOptions): Promise<void> {
  await mkdir(point, { recursive: true, mode: 0o700 });
  const free = await freeSpace(dirname(image), spare);
  const bytes = Math.floor(Math.min(size, free * largestPart) / 4096) * 4096;
  if (bytes < Math.min(size, least)) throw new NoSpace(Math.min(size, least / largestPart), free, 'units');
  const { mode, uid, gid } = await stat(point);
  await reserveFile(image, { size: bytes, require: (needed) => requireSpace(image, needed, { spare, what: 'units' }) });
  // Discarding would give the reserved blocks back. Many programs make many small files.
  const options = ['-q', '-F', '-m', '0', '-i', '32768', '-E', 'nodiscard,lazy_itable_init=1,lazy_journal_init=1', '-d', point];
  await runProgram('mkfs.ext4', [...options, image]);
  await mountSized({ image, point });
  await rmdir(join(point, 'lost+found')).catch(() => {});
  await chmod(point, mode & 0o7777);
  await chown(point, uid, gid);
}

/** Mounts a sized folder again, after the machine has restarted. Changes nothing if it is mounted, or has no size. */
export async function reopenSizedFolder(folder: SizedFolder): Promise<void> {
  const hasSize = await access(folder.image).then(
    () => true,
    () => false,
  );
  if (hasSize && (await mountAt(folder.point)) === undefined) await mountSized(folder);
}

/** Tables of inodes are written when they are used, not all at once. */
async function mountSized({ image, point }: SizedFolder): Promise<void> {
  await runProgram('mount', ['-t', 'ext4', '-o', 'loop,noinit_itable', image, point]);
}

/** Deletes everything in a sized folder, and makes it the folder that it was. Can be repeated. Something may still be mounted inside. */
export async function closeSizedFolder({ image, point }: SizedFolder): Promise<void> {
  await unmount(point);
  await rm(image, { force: true });
}

/** Lets go of everything that is mounted at a folder, as soon as nobody uses it. */
export async function unmount(point: string): Promise<void> {
  while ((await mountAt(point)) !== undefined) {
    await runProgram('umount', ['--lazy', point]).catch(async (error: unknown) => {
      // Somebody else has done so meanwhile.
      if ((await mountAt(point)) !== undefined) throw error;
    });
  }
}
