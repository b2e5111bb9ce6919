import { temporaryDirectory } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { TaskOutput } from './output.ts';

test.each([
  ['has no size if there never was any', false, undefined],
  ['is known to be cut if a full disk had no room even for its file', true, { bytes: 0, truncated: true }],
])('output without a file %s', async (_, isCut, size) => {
  using directory = temporaryDirectory('output');
  const outputs = new TaskOutput({ directory: directory.path, limit: 1_000, isCut: async () => isCut });
  expect(await outputs.size('a-1')).toEqual(size);
});
