import { expect, test } from 'vitest';
import { asClusterId, type ClusterId, everyCluster, isPath, rootCluster, type WorkspacePath } from './clusters.ts';

const read = (cluster: ClusterId): string => cluster;

test('text from a request is not the id of a workspace, whatever its form', () => {
  const text = 'root:org:project' as string;
  // @ts-expect-error Text must be looked up first.
  read(text);
  if (!isPath(text)) throw new Error('expected a path');
  const path: WorkspacePath = text;
  // @ts-expect-error A path has the right form, but the workspace may not exist, and its id is another one.
  read(path);
  // @ts-expect-error The place of a request that has not been looked up.
  read('');
  for (const known of [rootCluster, everyCluster, asClusterId('2x1tgq8d1kj6fz0l')]) expect(read(known)).toBe(known);
});

test.each([
  ['root', true],
  ['root:org:project', true],
  ['2x1tgq8d1kj6fz0l', true],
  ['', false],
  ['*', false],
  ['root::org', false],
  ['root/org', false],
  ['Root', false],
  ['root:-org', false],
  ['x'.repeat(1025), false],
])('%s is a path: %s', (text, expected) => {
  expect(isPath(text)).toBe(expected);
});
