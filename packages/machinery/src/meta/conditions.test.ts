import { describe, expect, it } from 'vitest';
import { FieldPath } from '../field/path.ts';
import { type ConditionObject, validateConditions } from './conditions.ts';

const ready: ConditionObject = {
  type: 'Ready',
  status: 'True',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  reason: 'AsExpected',
  message: '',
};
const errorsOf = (...conditions: ConditionObject[]): string[] =>
  validateConditions(conditions, FieldPath.of('status', 'conditions')).map(({ field, body }) => `${field}: ${body}`);

describe('conditions', () => {
  it('accept valid entries', () => {
    expect(errorsOf(ready, { ...ready, type: 'example.com/Other', status: 'Unknown', observedGeneration: 3 })).toEqual([]);
  });

  it.each<[string, ConditionObject, string]>([
    ['a known status', { status: 'Maybe' }, 'status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"'],
    ['a generation', { observedGeneration: -1 }, 'observedGeneration: Invalid value: -1: must be greater than or equal to zero'],
    ['a time', { lastTransitionTime: null }, 'lastTransitionTime: Required value'],
    ['a reason', { reason: '' }, 'reason: Required value'],
    ['a short reason', { reason: 'r'.repeat(1025) }, 'reason: Too long: may not be more than 1024 bytes'],
    ['a short message', { message: 'm'.repeat(32_769) }, 'message: Too long: may not be more than 32768 bytes'],
  ])('need %s', (_what, part, message) => {
    expect(errorsOf({ ...ready, ...part })).toEqual([`status.conditions[0].${message}`]);
  });

  it('need a one-word reason', () => {
    expect(errorsOf({ ...ready, reason: 'not a word' })[0]).toMatch(
      /^status\.conditions\[0\]\.reason: Invalid value: "not a word": a condition reason must start/,
    );
  });

  it('are unique by type', () => {
    expect(errorsOf(ready, ready)).toEqual(['status.conditions[1].type: Duplicate value: "Ready"']);
  });
});
