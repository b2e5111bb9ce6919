import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Entry, fileEntry, textEntry } from '@capstan/node-agent';

/** The user of the image, which owns only the data. */
export const imageUser = 65_532;
export const dataDirectory = 'var/lib/capstan';

/**
 * The base of the image: Node, the libraries that it is linked with, and the few files that programs expect of a system. There is no shell.
 */
export function systemEntries(): Entry[] {
  const node = nodeFolder();
  const program = join(node, 'bin/node');
  return [
    fileEntry(program, 'usr/local/bin/node'),
    fileEntry(join(node, 'LICENSE'), 'usr/share/doc/node/LICENSE'),
    ...librariesOf(program).map((library) => fileEntry(library, library.slice(1))),
    ...copyrights(),
    textEntry(
      'etc/passwd',
      `root:x:0:0:root:/:/sbin/nologin\ncapstan:x:${imageUser}:${imageUser}:Capstan:/${dataDirectory}:/sbin/nologin\n`,
    ),
    textEntry('etc/group', `root:x:0:\ncapstan:x:${imageUser}:\n`),
    textEntry('etc/nsswitch.conf', 'hosts: files dns\n'),
    { path: 'tmp', type: 'directory', mode: 0o1777 },
    { path: dataDirectory, type: 'directory', mode: 0o700, owner: imageUser },
  ];
}

/** The package with the Node that Capstan is tested with. */
function nodeFolder(): string {
  if (process.platform !== 'linux')
    throw new Error(`expected to build the image on Linux, whose libraries it contains, found ${process.platform}`);
  return dirname(createRequire(import.meta.url).resolve(`node-linux-${process.arch}/package.json`));
}

/** The shared libraries of a program and the loader, from this machine: there is no registry to pull a base image from. */
function librariesOf(program: string): string[] {
  const said = execFileSync('ldd', [program], { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } });
  const missing = /^\s*(\S+) => not found/m.exec(said)?.[1];
  if (missing !== undefined)
    throw new Error(`expected this machine to have ${missing}, which Node is linked with; install it to build the image`);
  return [...said.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)].map((match) => match[1]!);
}

/** The copyright files of the libraries, if the machine has them where Debian does. */
function copyrights(): Entry[] {
  return ['libc6', 'libstdc++6', 'libgcc-s1']
    .map((name) => `/usr/share/doc/${name}/copyright`)
    .filter((path) => existsSync(path))
    .map((path) => fileEntry(path, path.slice(1)));
}
