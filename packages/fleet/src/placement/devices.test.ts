import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseDevices, largestLinked } from './devices.ts';
import type { Device } from './node.ts';

const gpu = (uuid: string, nvlink?: string, numa?: number): Device => ({
  uuid,
  model: 'H100',
  memory: 1,
  health: 'Healthy',
  ...(nvlink === undefined ? {} : { nvlink }),
  ...(numa === undefined ? {} : { numa }),
});
const uuids = (gpus: readonly Device[]): string => gpus.map(({ uuid }) => uuid).join(' ');

describe('the GPUs of a node', () => {
  const free = [gpu('a1', 'a'), gpu('a2', 'a'), gpu('a3', 'a'), gpu('a4', 'a'), gpu('b1', 'b'), gpu('b2', 'b'), gpu('c1', 'c')];

  it.each([
    { count: 1, chosen: 'c1', why: 'the smallest fragment, so that groups stay whole' },
    { count: 2, chosen: 'b1 b2', why: 'a whole group' },
    { count: 3, chosen: 'a1 a2 a3', why: 'the only group that suffices' },
    { count: 4, chosen: 'a1 a2 a3 a4', why: 'a whole group' },
    { count: 5, chosen: 'a1 a2 a3 a4 c1', why: 'the largest group, and the smallest fragment for the rest' },
    { count: 7, chosen: 'a1 a2 a3 a4 b1 b2 c1', why: 'all' },
  ])('$count: $why', ({ count, chosen }) => {
    expect(uuids(chooseDevices(free, count))).toBe(chosen);
  });

  it('are taken from one NUMA node of a group if it has enough', () => {
    const switched = [gpu('g0', 'a', 0), gpu('g1', 'a', 0), gpu('g2', 'a', 0), gpu('g3', 'a', 1), gpu('g4', 'a', 1)];
    expect(uuids(chooseDevices(switched, 2))).toBe('g3 g4');
    expect(uuids(chooseDevices(switched, 3))).toBe('g0 g1 g2');
  });

  it('without NVLink are connected with themselves only', () => {
    expect(largestLinked([gpu('a'), gpu('b')])).toBe(1);
    expect(largestLinked([])).toBe(0);
    expect(largestLinked(free)).toBe(4);
  });

  it('are distinct, as many as asked for, and connected if that is possible', () => {
    const gpus = fc
      .array(fc.record({ nvlink: fc.constantFrom(undefined, 'a', 'b', 'c'), numa: fc.nat(2) }), { minLength: 1, maxLength: 10 })
      .map((list) => list.map(({ nvlink, numa }, index) => gpu(`g${index}`, nvlink, numa)));
    fc.assert(
      fc.property(gpus, fc.nat(), (all, number) => {
        const count = number % (all.length + 1);
        const chosen = chooseDevices(all, count);
        expect(new Set(chosen).size).toBe(count);
        expect(chosen.every((one) => all.includes(one))).toBe(true);
        if (count <= largestLinked(all)) expect(largestLinked(chosen)).toBe(count);
      }),
    );
  });
});
