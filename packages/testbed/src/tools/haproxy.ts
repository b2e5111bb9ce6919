import { join } from 'node:path';
import { type DebianTree, libraryPath } from './debian-tree.ts';

/** A load balancer in front of several API servers. */
export const haproxyTree: DebianTree = {
  packages: ['haproxy'],
  prepare: (tree) => `#!/bin/sh\nLD_LIBRARY_PATH='${libraryPath(tree)}' exec '${join(tree, 'usr/sbin/haproxy')}' "$@"\n`,
};
