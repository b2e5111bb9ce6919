import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildImage } from '../kubelets/images.ts';
import type { TemporaryDirectory } from '../temporary.ts';
import { requireTool } from '../tools/tool.ts';

/** An image with busybox, a shell, Perl and a volume with a file, in an archive that engines load. The text makes it another one. */
export async function buildUnitImage(name: string, archive: string, text = ''): Promise<void> {
  const busybox = join(`${await requireTool('containerd')}.tree`, 'bin/busybox');
  const command = ['/bin/sh', '-c', 'echo "from the image"'];
  await buildImage(
    busybox,
    { names: [name], command, files: { 'etc/note': text, 'srv/kept/note': 'of the image' }, programs: perlFiles(), volumes: ['/srv/kept'] },
    archive,
  );
}

function perlFiles(): Record<string, string> {
  const libraries = [...execFileSync('ldd', ['/usr/bin/perl'], { encoding: 'utf8' }).matchAll(/(\/\S+) \(/g)].map((match) => match[1]!);
  const modules = execFileSync('/usr/bin/perl', ['-MSocket', '-e', 'print $INC{"Socket.pm"}'], { encoding: 'utf8' });
  const files = readdirSync(dirname(modules), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(['/usr/bin/perl', ...libraries, ...files].map((file) => [file.slice(1), file]));
}

/** Podman with storage of its own, so that tests leave nothing on the machine. */
export function podmanEnvironment(directory: TemporaryDirectory, insecure: readonly string[] = []): Record<string, string> {
  const storage = directory.join('storage.conf');
  const registries = directory.join('registries.conf');
  writeFileSync(storage, `[storage]\ndriver = "overlay"\ngraphroot = "${directory.join('graph')}"\nrunroot = "${directory.join('run')}"\n`);
  writeFileSync(registries, insecure.map((location) => `[[registry]]\nlocation = "${location}"\ninsecure = true\n`).join('\n'));
  return { CONTAINERS_STORAGE_CONF: storage, CONTAINERS_REGISTRIES_CONF: registries };
}

/** In milliseconds: how long Podman may take to clean up after the last container. */
const patience = 5_000;

/** Podman leaves mounts of its storage behind. */
export function deleteStorage(directory: TemporaryDirectory): void {
  // Conmon runs Podman after the end of a container, which would make the storage again.
  for (const until = performance.now() + patience; isUsed(directory) && performance.now() < until; ) execFileSync('sleep', ['0.05']);
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${directory.path}/`));
  for (const path of mounts.reverse()) execFileSync('umount', ['--lazy', path]);
  directory[Symbol.dispose]();
}

function isUsed(directory: TemporaryDirectory): boolean {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return words.includes('cleanup') && words.some((word) => word.startsWith(`${directory.path}/`));
      } catch {
        // It has just ended.
        return false;
      }
    });
}
