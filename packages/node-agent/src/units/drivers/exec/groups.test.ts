import { expect, test } from 'vitest';
import { missingLimits } from './groups.ts';

test.each([
  [['cpu', 'memory', 'pids'], undefined],
  [['memory'], 'the agent may not use the cgroup controllers cpu, pids, so units are not limited in them'],
])('with the controllers %j', (controllers, expected) => {
  const folders = new Map(controllers.map((name) => [name, '/sys/fs/cgroup/capstan-units']));
  expect(missingLimits({ version: 2, folders, monitors: [] })).toBe(expected);
});
