import type { JsonObject } from '@capstan/machinery/objects';
import { expect, test } from 'vitest';
import type { AdapterAllocation } from '../../adapter/contract.ts';
import { membersOf } from './placement.ts';
import { instanceOf, memberOf } from './testing.ts';

const allocations: readonly AdapterAllocation[] = [
  ...[1, 2, 3].map((index) => ({ name: `a${index}`, node: memberOf('agent', index).node, isExclusive: true })),
  { name: 'waiting', isExclusive: true },
  { name: 'shared', node: memberOf('agent', 9).node, isExclusive: false },
];
const members = (placement: object) => membersOf(instanceOf({ placement: placement as JsonObject }), allocations);

test('names one server and its agents', () => {
  expect(members({ server_allocation_id: 'a1', agent_allocation_ids: ['a2', 'a3'] })).toEqual({
    members: [
      { component: 'server', allocation: 'a1' },
      { component: 'agent', allocation: 'a2' },
      { component: 'agent', allocation: 'a3' },
    ],
  });
  expect(members({ server_allocation_id: 'a1' }).members).toHaveLength(1);
  expect(members({ server_allocation_ids: ['a1', 'a2', 'a3'] }).members.map(({ component }) => component)).toEqual(
    Array.from({ length: 3 }, () => 'server'),
  );
});

test.each([
  [{}, 'ServerRequired'],
  [{ server_allocation_ids: [] }, 'ServerRequired'],
  [{ server_allocation_ids: ['a1', 'a2'] }, 'EvenServers'],
  [{ server_allocation_id: 'a1', server_allocation_ids: ['a1'] }, 'InvalidPlacement'],
  [{ server_allocation_id: 7 }, 'InvalidPlacement'],
  [{ server_allocation_id: 'a1', agent_allocation_ids: 'a2' }, 'InvalidPlacement'],
  [{ server_allocation_id: 'a1', agent_allocation_ids: ['a1'] }, 'ServerIsAgent'],
  [{ server_allocation_id: 'a1', agent_allocation_ids: ['a2', 'a2'] }, 'AllocationNamedTwice'],
  [{ server_allocation_id: 'elsewhere' }, 'AllocationNotFound'],
  [{ server_allocation_id: 'waiting' }, 'AllocationNotActive'],
  [{ server_allocation_id: 'a1', agent_allocation_ids: ['shared'] }, 'AllocationNotExclusive'],
])('rejects %j with %s', (placement, code) => {
  expect(() => members(placement)).toThrow(expect.objectContaining({ code, userFixable: true }));
});
