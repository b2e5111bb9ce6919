import { expect, test } from 'vitest';
import { timeToFirstOutput } from './first-output.ts';

test('returns the time of the first output of a command that succeeds', async () => {
  expect(await timeToFirstOutput({ words: ['/bin/sh', '-c', 'echo $WORD; echo more'], environment: { WORD: 'first' } })).toBeGreaterThan(0);
});

test.each([
  ['fails', 'echo out; echo why >&2; exit 3', 'exited with 3: why'],
  ['prints nothing', 'true', 'exited with 0'],
])('rejects a command that %s', async (_, script, message) => {
  await expect(timeToFirstOutput({ words: ['/bin/sh', '-c', script] })).rejects.toThrow(message);
});
