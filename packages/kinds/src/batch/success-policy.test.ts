import { FieldPath } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { Findings } from '../shared/findings.ts';
import { countIndexes } from './job-indexes.ts';
import { checkSuccessPolicy } from './success-policy.ts';

test.each([
  ['', 0],
  ['0-2,4', 4],
  ['4', 1],
  ['5', 'too large index: "5"'],
  ['2-1', 'non-increasing order, previous: 2, current: 1'],
  ['2,1', 'non-increasing order, previous: 2, current: 1'],
  ['1-2-3', `the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by '-'`],
  ['x', 'cannot convert string to integer for index: "x"'],
])('parses the indexes %j of five completions as %j', (text, expected) => {
  expect(countIndexes(text, 5)).toBe(expected);
});

function problems(policy: { rules?: object[] }, spec: object = { completionMode: 'Indexed', completions: 3 }): string[] {
  const found = new Findings();
  checkSuccessPolicy(found, FieldPath.of('spec', 'successPolicy'), { policy, spec: { ...spec } });
  return found.errors.map(({ field, body }) => `${field}: ${body}`);
}

test('a rule needs indexes or a count', () => {
  expect(problems({ rules: [{ succeededIndexes: '0-1', succeededCount: 1 }] })).toEqual([]);
  expect(problems({ rules: [{}] })).toEqual([
    'spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified',
  ]);
  expect(problems({})).toEqual([
    'spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy is specified',
  ]);
  expect(problems({ rules: [{ succeededIndexes: '0', succeededCount: 2 }] })).toEqual([
    'spec.successPolicy.rules[0].succeededCount: Invalid value: 2: must be less than or equal to 1 (the number of indexes in the specified succeededIndexes field)',
  ]);
});

test('only indexed jobs may have a success policy', () => {
  expect(problems({ rules: [{ succeededCount: 1 }] }, { completions: 3 })).toEqual([
    'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode',
  ]);
});
