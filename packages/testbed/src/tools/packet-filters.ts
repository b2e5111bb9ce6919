import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DebianTree, libraryPath } from './debian-tree.ts';

/** The older interface of the packet filter of Linux. The folder `links` beside it has `iptables` and `iptables-restore`. */
export const iptablesTree: DebianTree = {
  packages: ['iptables'],
  prepare: (tree) => {
    const libraries = libraryPath(tree);
    const plugins = libraries.split(':').map((folder) => join(folder, 'xtables'));
    const environment = `LD_LIBRARY_PATH='${libraries}' XTABLES_LIBDIR='${plugins.join(':')}'`;
    const script = (name: string): string => `#!/bin/sh\n${environment} exec '${join(tree, 'usr/sbin/xtables-nft-multi')}' ${name} "$@"\n`;
    mkdirSync(join(tree, 'links'));
    for (const name of ['iptables', 'iptables-restore']) writeFileSync(join(tree, 'links', name), script(name), { mode: 0o755 });
    return script('iptables');
  },
};
