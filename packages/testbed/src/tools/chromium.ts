import { join } from 'node:path';
import { type DebianTree, libraryPath } from './debian-tree.ts';

/** A browser without a window. Debian's own script would look for it in /usr. */
export const chromiumTree: DebianTree = {
  packages: ['chromium'],
  prepare: (tree) => `#!/bin/sh\nLD_LIBRARY_PATH='${libraryPath(tree)}' exec '${join(tree, 'usr/lib/chromium/chromium')}' "$@"\n`,
};
