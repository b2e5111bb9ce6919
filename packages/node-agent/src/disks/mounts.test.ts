import { expect, test } from 'vitest';
import { mountAbove, parseMounts } from './mounts.ts';

const mounts = parseMounts(
  [
    '21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,prjquota',
    '36 21 98:0 / /mnt/a\\040b rw - ext4 /dev/x rw',
    '37 21 0:1 / /srv rw - tmpfs t rw',
    '38 21 0:2 / /srv rw - xfs /dev/y rw,attr2,prjquota',
    '',
  ].join('\n'),
);

test('mounts have their points, types, sources and options', () => {
  expect(mounts.map(({ point }) => point)).toEqual(['/', '/mnt/a b', '/srv', '/srv']);
  expect(mounts[0]).toEqual({ point: '/', type: 'ext4', source: '/dev/vda', options: ['rw', 'prjquota'] });
});

test.each([
  ['/srv', '/dev/y'],
  ['/srv/deep/er', '/dev/y'],
  ['/srvice', '/dev/vda'],
  ['/mnt/a b/c', '/dev/x'],
  ['/', '/dev/vda'],
])('%s is on %s: the longest point, and the last one there', (path, source) => {
  expect(mountAbove(path, mounts)?.source).toBe(source);
});
