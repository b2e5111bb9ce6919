import { expect, test } from 'vitest';
import { afterSecondTry, parseReport } from './report.ts';

const file = (status: string, ...results: readonly string[]): unknown => ({
  name: 'a.test.ts',
  status,
  assertionResults: results.map((result, index) => ({ fullName: `test ${index}`, status: result })),
});
const parse = (files: readonly unknown[], code: number) => parseReport(JSON.stringify({ testResults: files }), code);

test('counts tests by their outcome', () => {
  expect(parse([file('failed', 'passed', 'failed', 'skipped', 'pending', 'todo'), file('passed', 'passed')], 1)).toEqual({
    passed: 2,
    failed: ['test 1'],
    skipped: ['test 2', 'test 3', 'test 4'],
    failedFiles: ['a.test.ts'],
  });
});

test('counts tests of files that were run again as failed if they failed twice, and names those that failed once', () => {
  const first = JSON.stringify({
    testResults: [file('passed', 'passed', 'skipped'), file('failed', 'failed', 'failed', 'passed', 'passed')],
  });
  expect(afterSecondTry(first, parse([file('failed', 'passed', 'failed', 'passed', 'failed')], 1))).toEqual({
    passed: 4,
    failed: ['test 1'],
    skipped: ['test 1'],
    failedFiles: ['a.test.ts'],
    unsteady: ['test 0', 'test 3'],
  });
});

test('counts a file that could not be loaded the second time as a failure', () => {
  const first = JSON.stringify({ testResults: [file('failed', 'failed', 'passed')] });
  expect(afterSecondTry(first, parse([file('failed')], 1))).toMatchObject({ passed: 0, failed: ['a.test.ts'] });
});

test('counts a file that could not be loaded as a failure', () => {
  expect(parse([file('failed')], 1).failed).toEqual(['a.test.ts']);
});

test('counts an unexplained exit code as a failure', () => {
  expect(parse([file('passed', 'passed')], 1).failed).toHaveLength(1);
});
