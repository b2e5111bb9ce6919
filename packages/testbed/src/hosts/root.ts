import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { cacheDirectory } from '../tools/cache.ts';
import type { Machine } from './machine.ts';

const project = resolve(import.meta.dirname, '../../../..');

/**
 * Gives a machine its own root: everything that this machine has, and what is written stays in the folder of the disk. `/run` and `/tmp` are empty
 * after each start.
 */
const script = `
set -e
disk=$1; shift
root=$disk/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$disk/upper,workdir=$disk/work" "$root"
mount -t proc proc "$root/proc"
mount --bind "$disk/boot_id" "$root/proc/sys/kernel/random/boot_id"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
for own in run tmp dev/shm; do mount -t tmpfs tmpfs "$root/$own"; done
for folder in "$@"; do mkdir -p "$root$folder"; mount --rbind "$folder" "$root$folder"; done
mkdir "$root/run/outside"
cd "$root"
pivot_root . run/outside
umount --lazy /run/outside
rmdir /run/outside
`;

/** The folder of a host's disk, outside of it. */
export function createDisk(directory: string): void {
  for (const folder of ['upper', 'work', 'root']) mkdirSync(join(directory, folder), { recursive: true });
}

/** Makes the disk the root of a machine that has just started, with an identifier of this start. */
export async function mountRoot(machine: Machine, disk: string): Promise<void> {
  writeFileSync(join(disk, 'boot_id'), `${randomUUID()}\n`);
  const { dev } = statSync('/');
  // An overlay does not contain other file systems.
  const needed = [project, dirname(process.execPath), cacheDirectory()].filter((folder) => existsSync(folder));
  const elsewhere = needed.filter((folder) => statSync(folder).dev !== dev || folder.startsWith('/tmp/'));
  await machine.run('sh', '-c', script, 'sh', disk, ...elsewhere);
}
