import { asAllocationId, type BookingEntry, type NodeBookingSpec } from '@capstan/api';
import { describe, expect, it } from 'vitest';
import { addEntry, advanceEntry, type Change, emptyBooking, handOver } from './content.ts';

const capacity = { cpu: 8_000, memory: 64 };

const entry = (name: string, rest: Partial<BookingEntry> = {}): Omit<BookingEntry, 'state'> => ({
  allocation: { cluster: 'tenant', namespace: 'default', name, uid: asAllocationId(`uid of ${name}`) },
  attempt: 'first',
  devices: [],
  cpu: 0,
  memory: 0,
  ...rest,
});
const key = (name: string) => ({ uid: asAllocationId(`uid of ${name}`), attempt: 'first' });

function written(change: Change): NodeBookingSpec {
  if (change.kind !== 'write') throw new Error(`expected a write, found ${JSON.stringify(change)}`);
  return change.spec;
}

describe('handing over a warm unit', () => {
  const stock = { offering: 'small', request: 'hash' };
  const warm = written(addEntry(emptyBooking, entry('stock', { devices: ['g0'], stock }), { event: 'grant', capacity }));
  const { allocation } = entry('tenant');
  const taken = written(handOver(warm, key('stock'), allocation));

  it('changes the allocation of the entry and nothing else', () => {
    expect(taken.entries).toEqual([{ ...entry('tenant', { devices: ['g0'] }), state: 'Granted' }]);
  });

  it('succeeds once: the same allocation has it already, and others are refused', () => {
    expect(handOver(taken, key('stock'), allocation)).toEqual({ kind: 'unchanged' });
    expect(handOver(taken, key('stock'), entry('other').allocation)).toMatchObject({ kind: 'refused', code: 'Taken' });
    expect(advanceEntry(taken, key('stock'), 'abandon')).toMatchObject({ kind: 'refused' });
  });

  it('never takes from an allocation', () => {
    const owned = written(addEntry(emptyBooking, entry('owner'), { event: 'grant', capacity }));
    expect(handOver(owned, key('owner'), allocation)).toMatchObject({ kind: 'refused', code: 'Taken' });
  });
});

describe('adding to a booking', () => {
  const one = written(addEntry(emptyBooking, entry('a', { devices: ['g0'], cpu: 6_000 }), { event: 'grant', capacity }));

  it('writes the entry in its state', () => {
    expect(one.entries).toEqual([{ ...entry('a', { devices: ['g0'], cpu: 6_000 }), state: 'Granted' }]);
    expect(written(addEntry(one, entry('b'), { event: 'hold', capacity })).entries[1]).toMatchObject({ state: 'Held' });
  });

  it('changes nothing if the entry is there already', () => {
    expect(addEntry(one, entry('a', { devices: ['g0'] }), { event: 'grant', capacity })).toEqual({ kind: 'unchanged' });
  });

  it.each<{ what: string; added: Partial<BookingEntry>; refusal: object }>([
    { what: 'a device that is booked', added: { devices: ['g1', 'g0'] }, refusal: { code: 'Taken', message: 'g0 is booked already' } },
    { what: 'more cpu than is left', added: { cpu: 2_001 }, refusal: { code: 'Full' } },
    { what: 'more memory than there is', added: { memory: 65 }, refusal: { code: 'Full' } },
    { what: 'the whole node', added: { exclusive: true }, refusal: { code: 'Taken' } },
    {
      what: 'the same device for another attempt',
      added: { ...entry('a'), attempt: 'second', devices: ['g0'] },
      refusal: { code: 'Taken' },
    },
  ])('refuses $what', ({ added, refusal }) => {
    expect(addEntry(one, entry('b', added), { event: 'hold', capacity })).toMatchObject({ kind: 'refused', ...refusal });
  });

  it('refuses anything beside an exclusive entry', () => {
    const whole = written(addEntry(emptyBooking, entry('a', { exclusive: true }), { event: 'grant', capacity }));
    expect(addEntry(whole, entry('b'), { event: 'grant', capacity })).toMatchObject({ kind: 'refused', code: 'Taken' });
  });
});

describe('advancing an entry', () => {
  const two = [entry('a'), entry('b')].reduce((spec, each) => written(addEntry(spec, each, { event: 'grant', capacity })), emptyBooking);

  it('goes from granted to free, and leaves the others alone', () => {
    const releasing = written(advanceEntry(two, key('a'), 'release'));
    expect(releasing.entries.map(({ state }) => state)).toEqual(['Releasing', 'Granted']);
    const cleaning = written(advanceEntry(releasing, key('a'), 'clean'));
    expect(written(advanceEntry(cleaning, key('a'), 'finish')).entries).toEqual([two.entries[1]]);
  });

  it('refuses what the state does not allow', () => {
    expect(advanceEntry(two, key('a'), 'finish')).toEqual({
      kind: 'refused',
      code: 'WrongState',
      message: 'cannot finish what is granted',
    });
    expect(advanceEntry(two, key('c'), 'grant')).toEqual({ kind: 'refused', code: 'WrongState', message: 'cannot grant what is free' });
  });
});
