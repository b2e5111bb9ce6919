import type { JsonObject } from '@capstan/machinery/objects';
import { expect, test } from 'vitest';
import { membersOf } from './placement.ts';
import { instanceOf } from './testing.ts';

const members = (placement: object) => membersOf(instanceOf({ placement: placement as JsonObject }));

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
])('rejects %j with %s', (placement, code) => {
  expect(() => members(placement)).toThrow(expect.objectContaining({ code, userFixable: true }));
});
