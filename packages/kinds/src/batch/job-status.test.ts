import type { KubeObject } from '@capstan/machinery';
import { expect, it } from 'vitest';
import { validateJobStatus } from './job-status.ts';

const jobOf = (status: object, spec: object = {}): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'j' },
  spec,
  status,
});
const errorsOf = (status: object, old: object, spec: object = {}): string[] =>
  validateJobStatus(jobOf(status, spec), jobOf(old, spec)).map(({ field, body }) => `${field}: ${body}`);

const truths = (...types: string[]) => types.map((type) => ({ type, status: 'True' }));
const startTime = '2024-01-02T03:04:05Z';
const completionTime = '2024-01-02T04:04:05Z';

it.each<[string, object, object, string[]]>([
  ['a running job', { active: 2, ready: 1, startTime }, {}, []],
  ['more ready than active pods', { active: 1, ready: 2 }, {}, ['status.ready: Invalid value: 2: cannot set more ready pods than active']],
  ['fewer failures than before', { failed: 1 }, { failed: 2 }, ['status.failed: Invalid value: 1: cannot decrease the failed counter']],
  ['a missing failure count', {}, { failed: 2 }, ['status.failed: Invalid value: 0: cannot decrease the failed counter']],
  ['a removed start time', {}, { startTime }, ['status.startTime: Required value: startTime cannot be removed for unsuspended job']],
  ['a complete job', { startTime, completionTime, conditions: truths('SuccessCriteriaMet', 'Complete') }, { startTime }, []],
  [
    'a failed job without a failure target',
    { startTime, conditions: truths('Failed') },
    { startTime },
    ['status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition'],
  ],
  [
    'a completion before the start',
    { startTime: completionTime, completionTime: startTime, conditions: truths('SuccessCriteriaMet', 'Complete') },
    {},
    [`status.completionTime: Invalid value: "${startTime}": must be equal to or after \`startTime\``],
  ],
  [
    'removed terminal conditions',
    { startTime },
    { startTime, conditions: truths('FailureTarget', 'Failed') },
    [
      'status.conditions: Invalid value: cannot disable the terminal Failed=True condition',
      'status.conditions: Invalid value: cannot disable the terminal FailureTarget=True condition',
    ],
  ],
])('validates %s', (_, status, old, errors) => {
  expect(errorsOf(status, old)).toEqual(errors);
});

it('allows a suspended job to lose its start time', () => {
  expect(errorsOf({}, { startTime }, { suspend: true })).toEqual([]);
});

it('validates only what changes', () => {
  const strange = { active: 1, ready: 5 };
  expect(errorsOf({ ...strange, succeeded: 1 }, strange)).toEqual([]);
});

it.each<[object, string[]]>([
  [{ completedIndexes: '0-1,3', failedIndexes: '2' }, []],
  [
    { completedIndexes: 'x' },
    ['status.completedIndexes: Invalid value: "x": error parsing completedIndexes: cannot convert string to integer for index: "x"'],
  ],
  [{ failedIndexes: '4' }, ['status.failedIndexes: Invalid value: "4": error parsing failedIndexes: too large index: "4"']],
  [
    { completedIndexes: '0-2', failedIndexes: '1,3' },
    ['status.failedIndexes: Invalid value: "1,3": failedIndexes and completedIndexes overlap at index: 1'],
  ],
])('validates the indexes in %j', (status, errors) => {
  expect(errorsOf(status, {}, { completionMode: 'Indexed', completions: 4, backoffLimitPerIndex: 1 })).toEqual(errors);
});
