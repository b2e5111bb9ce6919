import { asAllocationId, type BookingEntry, type NodeBooking, type NodeUnit } from '@capstan/api';
import { expect, test } from 'vitest';
import { warmUnits } from './stock.ts';

const entry = (uid: string, offering?: string): BookingEntry => ({
  allocation: { cluster: 'c', namespace: 'default', name: uid, uid: asAllocationId(uid) },
  attempt: uid,
  state: 'Granted',
  devices: [`gpu-${uid}`],
  cpu: 1,
  memory: 1,
  ...(offering !== undefined && { stock: { offering, request: 'hash' } }),
});
const booking = (name: string, ...entries: BookingEntry[]) => ({ metadata: { name }, spec: { entries } }) as unknown as NodeBooking;
const prepared = (allocation: string, status: object) => ({ spec: { allocation }, status }) as unknown as NodeUnit;

test('stock list shows warm units by offering and node, and nothing that belongs to somebody', () => {
  const bookings = [booking('n2', entry('a', 'small'), entry('tenant')), booking('n1', entry('b', 'small'), entry('c', 'large'))];
  const units = [prepared('a', { phase: 'Warm' }), prepared('b', { phase: 'Preparing', step: 'pulls the image: 40 %' })];
  expect(warmUnits(bookings, units)).toEqual([
    { offering: 'large', node: 'n1', phase: 'Preparing', devices: ['gpu-c'] },
    { offering: 'small', node: 'n1', phase: 'Preparing', devices: ['gpu-b'], message: 'pulls the image: 40 %' },
    { offering: 'small', node: 'n2', phase: 'Ready', devices: ['gpu-a'] },
  ]);
});
