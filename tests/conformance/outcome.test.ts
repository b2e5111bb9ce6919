import { expect, test } from 'vitest';
import { readOutcome } from './outcome.ts';

const ended = (passed: number, failed: number, more = ''): string =>
  `${more}\nRan 1 of 7000 Specs in 3.2 seconds\nSUCCESS! -- ${passed} Passed | ${failed} Failed | 0 Pending | 6999 Skipped\n`;

test('reports a spec that ran without failures as passed', () => {
  expect(readOutcome({ code: 0, output: ended(1, 0) })).toEqual({ state: 'passed' });
});

test('reports a failure with its message and place', () => {
  const output = ended(
    0,
    1,
    '• [FAILED] [3.2 seconds]\n  [FAILED] in [It] - watch.go:12\n  [FAILED] failed to create: <nil>\n    is not true\n  In [It] at: k8s.io/test/e2e/watch.go:12 @ 01/01/26\n',
  );
  expect(readOutcome({ code: 1, output })).toEqual({ state: 'failed', reason: 'failed to create: <nil> is not true (watch.go:12)' });
});

test('does not report a skipped spec as passed', () => {
  const output = ended(0, 0, '  [SKIPPED] in [It] - watch.go:12\n  [SKIPPED] only for a cloud\n');
  expect(readOutcome({ code: 0, output })).toEqual({ state: 'not applicable', reason: 'only for a cloud' });
  const silent = ended(0, 0, 'Will run 1 of 7000 specs\n');
  expect(readOutcome({ code: 0, output: silent })).toEqual({ state: 'not applicable', reason: 'the spec skips itself' });
});

test('reports a name that selects no spec as a failure', () => {
  expect(readOutcome({ code: 0, output: ended(0, 0, 'Will run 0 of 7000 specs\n') })).toEqual({
    state: 'failed',
    reason: 'the test program has no spec of this name',
  });
});

test('reports an interrupted program as a failure', () => {
  expect(readOutcome({ code: 2, output: 'flag provided but not defined' })).toEqual({
    state: 'failed',
    reason: 'the test program ended with 2: flag provided but not defined',
  });
});
