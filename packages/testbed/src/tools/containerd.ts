import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type DebianTree, libraryPath } from './debian-tree.ts';

/** The programs of a Kubernetes node besides its kubelet: containerd and runc, network plugins, packet filters, and a static busybox and shell for images. */
export const containerdTree: DebianTree = {
  packages: ['containerd', 'runc', 'containernetworking-plugins', 'busybox-static', 'bash-static', 'nftables', 'conntrack', 'iptables'],
  prepare: (tree) => {
    // Debian's scripts would make these links when it installs the package.
    const links = join(tree, 'links');
    mkdirSync(links);
    for (const name of ['iptables', 'iptables-save', 'iptables-restore', 'ip6tables', 'ip6tables-save', 'ip6tables-restore'])
      symlinkSync('../usr/sbin/xtables-nft-multi', join(links, name));
    return `#!/bin/sh\nLD_LIBRARY_PATH='${libraryPath(tree)}' exec '${join(tree, 'usr/bin/containerd')}' "$@"\n`;
  },
};

/** The environment in which the programs of the tree find each other. */
export function containerdEnvironment(program: string): Readonly<Record<'PATH' | 'LD_LIBRARY_PATH' | 'XTABLES_LIBDIR', string>> {
  const tree = `${program}.tree`;
  const folders = ['links', 'usr/sbin', 'usr/bin', 'sbin', 'bin'].map((folder) => join(tree, folder));
  return {
    PATH: [...folders, process.env['PATH'] ?? '', '/usr/sbin', '/usr/bin', '/sbin', '/bin'].join(':'),
    LD_LIBRARY_PATH: libraryPath(tree),
    XTABLES_LIBDIR: libraryPath(tree)
      .split(':')
      .map((folder) => join(folder, 'xtables'))
      .join(':'),
  };
}
