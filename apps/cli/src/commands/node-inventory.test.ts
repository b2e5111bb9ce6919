import type { GPUNode } from '@capstan/api';
import { expect, test } from 'vitest';
import { describeState, stateOf } from './node-inventory.ts';

test.each([
  [{}, 'Ready'],
  [{ unschedulable: true }, 'Ready, cordoned'],
  [{ maintenance: true }, 'Ready, in maintenance'],
  [{ maintenance: true, unschedulable: true }, 'Ready, in maintenance, cordoned'],
  [{ lost: true }, 'Ready, lost'],
  [{ unschedulable: false, maintenance: false }, 'Ready'],
])('a node with %j is %s', (spec, expected) => expect(describeState({ metadata: {}, spec }, 'Ready')).toBe(expected));

test('a node that is being removed says so', () => {
  expect(describeState({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' }, spec: {} }, 'Unknown')).toBe('Unknown, being removed');
});

test.each([
  ['nobody has joined', undefined, 'NotEnrolled'],
  ['nobody has joined, although a controller has looked', { conditions: [{ type: 'Ready', status: 'Unknown' }] }, 'NotEnrolled'],
  ['two machines have its identity', { identity: { locked: {} }, conditions: [{ type: 'Ready', status: 'True' }] }, 'Locked'],
  ['the control plane hears of it', { identity: {}, conditions: [{ type: 'Ready', status: 'True' }] }, 'Ready'],
  ['it is silent', { identity: {}, conditions: [{ type: 'Ready', status: 'Unknown' }] }, 'Unknown'],
  ['nobody has judged it yet', { identity: {}, conditions: [{ type: 'GPUsHealthy', status: 'True' }] }, 'Unknown'],
])('the state of a node if %s', (_what, status, expected) => {
  expect(stateOf({ status } as unknown as GPUNode)).toBe(expected);
});
