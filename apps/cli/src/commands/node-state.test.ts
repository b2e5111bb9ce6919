import type { NodeBooking } from '@capstan/api';
import type { Resource } from '@capstan/client';
import { ApiError } from '@capstan/client';
import { expect, test } from 'vitest';
import { untilFree } from './node-state.ts';

const booking = (...names: string[]): NodeBooking =>
  ({
    metadata: { name: 'n1', uid: 'u', resourceVersion: String(names.length) },
    spec: { entries: names.map((name) => ({ allocation: { cluster: 'c', namespace: 'default', name }, state: 'Granted', devices: [] })) },
  }) as unknown as NodeBooking;

/** A server that ends every watch after these events. */
function ending(states: readonly (NodeBooking | undefined)[]): Resource<NodeBooking> {
  const next = states.values();
  return {
    get: async () => {
      const found = next.next().value;
      if (found === undefined) throw new ApiError({ code: 404, reason: 'NotFound' } as never, { code: 404 });
      return found;
    },
    async *watch() {},
  } as unknown as Resource<NodeBooking>;
}

test.each([
  ['its allocations are deleted', [booking('a', 'b'), booking('a', 'b'), booking('b'), booking()]],
  ['its booking is deleted', [booking('a', 'b'), booking('b'), undefined]],
])('a node is drained when %s, although the server ends every watch', async (_what, states) => {
  const lines: string[] = [];
  await untilFree(ending(states), 'n1', (line) => void lines.push(line));
  expect(lines).toEqual([
    'Still booked on n1: default/a in c, default/b in c.',
    'Still booked on n1: default/b in c.',
    'Nothing is booked on n1.',
  ]);
});
