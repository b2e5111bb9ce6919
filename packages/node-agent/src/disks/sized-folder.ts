import { access, mkdir, rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
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
const programs = ['sh', 'cp', 'mkfs.ext4', 'mount', 'umount', 'fallocate', 'truncate'];
/** In bytes: with less, programs cannot do anything useful. */
const least = 64 << 20;
/** No folder takes more than this part of the free space, so that others get some, too. */
const largestPart = 1 / 4;

/** Why folders cannot have sizes here. */
export const whyNoSizes = (): Promise<string | undefined> => whyNoLoops(programs);

/**
 * Makes a file system of that size while the folder may not exist yet, and shows it there as soon as it is known, with the files of the folder. One shell does everything: a
 * program takes a few milliseconds, and the agent waits while it starts one.
 */
const script = `
set -e
# Discarding would give the reserved blocks back. Many programs make many small files.
mkfs.ext4 -q -F -m 0 -i 32768 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "$1"
mkdir -m 700 "$2"
mount -t ext4 -o loop,noinit_itable "$1" "$2"
rmdir "$2/lost+found"
IFS= read -r point
cp --archive "$point/." "$2"
mount --bind "$2" "$point"
umount "$2"
rmdir "$2"
`;

/** Where the file system is until its folder is known. */
const stagingOf = (image: string): string => `${image}.mount`;

/** Gives a folder a size. Rejects with NoSpace if the disk has almost none. What an earlier attempt has left must have been closed. */
export async function openSizedFolder({ image, point }: SizedFolder, options: SizeOptions): Promise<void> {
  await mkdir(point, { recursive: true, mode: 0o700 });
  await sizeLater(image, Promise.resolve(point), options);
}

/** The same for a folder that is being made. Rejects if that does. */
export async function sizeLater(image: string, point: Promise<string>, { size, spare }: SizeOptions): Promise<void> {
  point.catch(() => {});
  const free = await freeSpace(dirname(image), spare);
  const bytes = Math.floor(Math.min(size, free * largestPart) / 4096) * 4096;
  if (bytes < Math.min(size, least)) throw new NoSpace(Math.min(size, least / largestPart), free, 'units');
  await reserveFile(image, { size: bytes, require: (needed) => requireSpace(image, needed, { spare, what: 'units' }) });
  await runProgram('sh', ['-c', script, 'sh', image, stagingOf(image)], { input: point.then((path) => `${path}\n`) });
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
  await discardSized(image);
}

/** Deletes a file system that may not have come to its folder. Can be repeated. */
export async function discardSized(image: string): Promise<void> {
  const staging = stagingOf(image);
  await unmount(staging);
  await rmdir(staging).catch(() => {});
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
