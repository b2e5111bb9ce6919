import { expect, test } from 'vitest';
import type { Mount } from '../../disks/mounts.ts';
import { findProjectQuota } from './project-quota.ts';

const mount = (type: string, options: readonly string[], point = '/data'): Mount => ({ type, options, point, source: '/dev/x' });
const find = (found: Mount | undefined, absent: readonly string[] = []) => {
  const runs: string[] = [];
  const quota = findProjectQuota('/data/storages', {
    mountOf: async () => found,
    missingProgram: async (names) => names.find((name) => absent.includes(name)),
    run: async (name, args) => {
      runs.push([name, ...args].join(' '));
      return '';
    },
  });
  return { quota, runs };
};

test.each<[Mount | undefined, readonly string[], string]>([
  [undefined, [], 'the file system of /data/storages is not known'],
  [mount('btrfs', ['rw']), [], 'the file system of /data/storages is btrfs, which has no project quotas; ext4 and XFS have'],
  [mount('ext4', ['rw', 'usrquota']), [], 'the file system at /data (ext4) is mounted without prjquota'],
  [mount('xfs', ['rw', 'pqnoenforce']), [], 'the file system at /data (xfs) is mounted without prjquota'],
  [mount('ext4', ['prjquota']), ['setquota'], 'setquota is missing on the node: apt-get install quota'],
  [mount('xfs', ['prjquota']), ['xfs_quota'], 'xfs_quota is missing on the node: apt-get install xfsprogs'],
])('without project quotas, a sentence says why', async (found, absent, why) => {
  expect(await find(found, absent).quota).toBe(why);
});

test('on ext4, chattr and setquota are used', async () => {
  const { quota, runs } = find(mount('ext4', ['rw', 'prjquota']));
  const found = await quota;
  if (typeof found === 'string') throw new Error(found);
  await found.assign('/data/storages/a/files', 7);
  await found.limit(7, 32 * 2 ** 20 + 1);
  expect(runs).toEqual([
    'chattr -R -p 7 /data/storages/a/files',
    'find /data/storages/a/files -xdev -type d -exec chattr +P {} +',
    'setquota -P 7 0 32769 0 0 /data',
  ]);
});

test('on XFS, xfs_quota is used', async () => {
  const { quota, runs } = find(mount('xfs', ['rw', 'prjquota']));
  const found = await quota;
  if (typeof found === 'string') throw new Error(found);
  await found.assign('/data/storages/a/files', 7);
  await found.limit(7, 32 * 2 ** 20);
  await found.limit(7, 0);
  expect(runs).toEqual([
    'xfs_quota -x -c project -s -p /data/storages/a/files 7 /data',
    'xfs_quota -x -c limit -p bhard=32768k 7 /data',
    'xfs_quota -x -c limit -p bhard=0k 7 /data',
  ]);
});
