import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { DebianTree } from './debian-tree.ts';

/** Runs a program with a clock that a file shifts: the path of that file, then the command. */
export const faketimeTree: DebianTree = {
  packages: ['libfaketime'],
  prepare: (tree) => {
    const [library] = globSync('usr/lib/*/faketime/libfaketimeMT.so.1', { cwd: tree });
    if (library === undefined) throw new Error('expected libfaketimeMT.so.1 in the package libfaketime');
    // Clocks that count from a start stay as they are: only the time of day is set on real machines.
    const settings = 'FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_DISABLE_SHM=1';
    return `#!/bin/sh
export LD_PRELOAD='${join(tree, library)}' FAKETIME_TIMESTAMP_FILE="$1" ${settings}
shift
exec "$@"
`;
  },
};
