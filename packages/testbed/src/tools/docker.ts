import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type DebianTree, libraryPath } from './debian-tree.ts';

/** The daemon of Docker, with containerd and runc, which it finds on its PATH. */
export const dockerTree: DebianTree = {
  packages: ['docker.io', 'containerd', 'runc'],
  prepare: (tree) => {
    const links = join(tree, 'links');
    mkdirSync(links);
    // Debian's scripts would make this link when it installs the package.
    symlinkSync('../usr/sbin/xtables-nft-multi', join(links, 'iptables'));
    const folders = ['links', 'usr/sbin', 'usr/bin', 'sbin', 'bin'].map((folder) => join(tree, folder));
    const path = [...folders, '/usr/sbin', '/usr/bin', '/sbin', '/bin'].join(':');
    return `#!/bin/sh\nPATH='${path}' LD_LIBRARY_PATH='${libraryPath(tree)}' exec '${join(tree, 'usr/sbin/dockerd')}' "$@"\n`;
  },
};
