import { expect, test } from 'vitest';
import { describeState } from './node-inventory.ts';

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
