import { describe, expect, it } from 'vitest';
import { FleetIndex } from './fleet-index.ts';
import type { FleetNode } from './node.ts';
import type { PlacementRequest } from './request.ts';
import type { Shortage } from './shortage.ts';
import { ask, gibibyte, makeNode } from './testing.ts';

function shortage(nodes: readonly FleetNode[], request: PlacementRequest, used: Readonly<Record<string, number>> = {}): Shortage {
  const index = new FleetIndex();
  for (const node of nodes) index.setNode(node);
  for (const [node, gpus] of Object.entries(used))
    index.book('other', { node, devices: Array.from({ length: gpus }, (_, at) => `${node}-${at}`), cpu: 7_000, memory: 60 * gibibyte });
  const result = index.place(request);
  if (result.kind === 'placed') throw new Error(`expected a shortage, found ${JSON.stringify(result)}`);
  return result;
}

describe('devices that are not clean yet', () => {
  const booked = (states: Readonly<Record<string, 'Granted' | 'Releasing' | 'Cleaning'>>, list: readonly FleetNode[], gpus = 8): string => {
    const index = new FleetIndex();
    for (const node of list) index.setNode(node);
    for (const [node, state] of Object.entries(states)) {
      const devices = Array.from({ length: gpus }, (_, at) => `${node}-${at}`);
      index.setBookings(node, new Map([['other', { devices, cpu: 0, memory: 0, state }]]));
    }
    const result = index.place(ask(8));
    return result.kind === 'short' ? result.message : '';
  };

  it.each([
    {
      what: 'are counted',
      message: booked({ n1: 'Releasing' }, [makeNode('n1')]),
      words: 'none is free on 1 node; 8 are being cleaned on n1',
    },
    {
      what: 'are counted beside those that are free',
      message: booked({ n1: 'Cleaning', n2: 'Granted' }, [makeNode('n1'), makeNode('n2')], 2),
      words: 'free: 6 on n1, 6 on n2; 2 more are being cleaned on n1',
    },
    {
      what: 'name a silent node',
      message: booked({ n1: 'Cleaning', n2: 'Granted' }, [makeNode('n1', { ready: 'Unknown' }), makeNode('n2')]),
      words: 'none is free on 1 node; 8 are being cleaned on n1, which is silent',
    },
    {
      what: 'name a node on which something remains',
      message: booked({ n1: 'Cleaning' }, [makeNode('n1', { isUnclean: true })]),
      words: 'none is free on 1 node; 8 could not be cleaned on n1',
    },
  ])('$what', ({ message, words }) => {
    expect(message).toBe(`needs 8 H100 on one node; ${words}`);
  });
});

const nodes = (count: number, options = {}): FleetNode[] => Array.from({ length: count }, (_, at) => makeNode(`n${at}`, options));

it('names devices that are reserved or kept for somebody else', () => {
  const index = new FleetIndex();
  index.setNode(makeNode('n1'));
  index.book('running', { node: 'n1', devices: ['n1-0'], cpu: 0, memory: 0 });
  index.book('r', { node: 'n1', devices: ['n1-1', 'n1-2'], cpu: 0, memory: 0, kept: 'reserved' });
  index.book('h', { node: 'n1', devices: ['n1-3'], cpu: 0, memory: 0, kept: 'held' });
  expect(index.place(ask(8))).toMatchObject({
    message: 'needs 8 H100 on one node; free: 4 on n1; 2 more are reserved for others on n1; 1 more is kept for older orders on n1',
  });
});

describe('the reason in one sentence', () => {
  it.each<{ fleet: FleetNode[]; request: PlacementRequest; used?: Record<string, number>; message: string }>([
    { fleet: [], request: ask(1), message: 'the fleet has no nodes' },
    {
      fleet: [makeNode('n1'), makeNode('n2', { model: 'A100' })],
      request: ask(1, { gpu: { model: 'H200' } }),
      message: 'no node has H200; the fleet has A100 and H100',
    },
    {
      fleet: [makeNode('n1'), makeNode('n2', { model: 'A100', pool: 'b' })],
      request: ask(1, { pools: ['b'] }),
      message: 'no node has H100; the 1 node in question has A100',
    },
    { fleet: nodes(2, { gpus: 0 }), request: ask(1, { gpu: {} }), message: 'no node has GPUs; the fleet has no GPUs' },
    { fleet: nodes(2), request: ask(1, { pools: ['x', 'y'] }), message: 'no node is in pool x or y; the pools are main' },
    {
      fleet: nodes(2),
      request: ask(1, { gpu: { model: 'H100', memory: 141 * gibibyte } }),
      message: 'no H100 has 141 GiB of memory; the largest has 80 GiB',
    },
    {
      fleet: nodes(2),
      request: ask(16),
      message: 'needs 16 H100 on one node; the largest nodes have 8 such GPUs, 8 CPUs and 64 GiB',
    },
    {
      fleet: nodes(2),
      request: ask(0, { gpu: {}, cpu: 16_000 }),
      message: 'needs 16 CPUs on one node; the largest nodes have 8 CPUs and 64 GiB',
    },
    { fleet: nodes(8, { cordoned: true }), request: ask(1), message: '8 nodes match, all are cordoned' },
    { fleet: nodes(1, { ready: 'Unknown' }), request: ask(1), message: '1 node matches, but is silent' },
    {
      fleet: [makeNode('n1', { cordoned: true }), makeNode('n2', { ready: 'False' }), makeNode('n3', { cordoned: true })],
      request: ask(1),
      message: '3 nodes match: 2 are cordoned and 1 is not ready',
    },
    {
      fleet: [makeNode('n3'), makeNode('n7'), makeNode('n8')],
      request: ask(4),
      used: { n3: 6, n7: 7, n8: 8 },
      message: 'needs 4 H100 on one node; free: 2 on n3, 1 on n7',
    },
    {
      fleet: nodes(6),
      request: ask(4),
      used: { n0: 6, n1: 7, n2: 5, n3: 5, n4: 6, n5: 6 },
      message: 'needs 4 H100 on one node; free: 3 on n2, 3 on n3, 2 on n0 and 3 more',
    },
    {
      fleet: nodes(1, { each: { health: 'Failed' } }),
      request: ask(1),
      message: 'needs 1 H100 on one node; too many GPUs are unhealthy on n0',
    },
    {
      fleet: nodes(2),
      request: ask(4, { cpu: 2_000 }),
      used: { n0: 1, n1: 2 },
      message: 'needs 4 H100 and 2 CPUs on one node; nodes with enough GPUs have only 1 CPU on n0, 1 CPU on n1',
    },
    {
      fleet: nodes(1),
      request: ask(4, { memory: 8 * gibibyte }),
      used: { n0: 1 },
      message: 'needs 4 H100 and 8 GiB of memory on one node; nodes with enough GPUs have only 4 GiB of memory on n0',
    },
    {
      fleet: nodes(5),
      request: ask(8, { nodes: 4 }),
      used: { n0: 1, n2: 2, n4: 8 },
      message: 'needs 4 nodes with 8 H100 each; 2 nodes have that free: n1, n3',
    },
    {
      fleet: nodes(2),
      request: { nodes: 1, strategy: 'pack', size: { kind: 'fraction', gpu: { model: 'H100' }, parts: 3 } },
      message: 'needs 1/3 of a node with H100; nodes have 8 GPUs',
    },
  ])('$message', ({ fleet, request, used, message }) => {
    expect(shortage(fleet, request, used).message).toBe(message);
  });
});

describe('the reason in numbers', () => {
  it('counts each node once, under the first constraint that removes it', () => {
    const fleet = [
      makeNode('n1', { pool: 'b', cordoned: true }),
      makeNode('n2', { cordoned: true }),
      makeNode('n3', { model: 'A100' }),
      makeNode('n4'),
      makeNode('n5'),
      makeNode('n6'),
    ];
    const found = shortage(fleet, ask(4, { pools: ['main'], nodes: 2 }), { n4: 5, n5: 8 });
    expect(found.removed).toEqual({ pool: 1, cordoned: 1, model: 1, gpus: 2 });
    expect(found.sufficient).toBe(1);
  });

  it('sums up what is free by class of node', () => {
    const fleet = [makeNode('n1'), makeNode('n2'), makeNode('n3', { gpus: 4, pool: 'b' }), makeNode('n4', { cordoned: true })];
    const common = { model: 'H100', gpuMemory: 80 * gibibyte, migProfile: undefined };
    expect(shortage(fleet, ask(4), { n1: 6, n2: 7, n3: 4 }).classes).toEqual([
      { ...common, pool: 'b', gpusPerNode: 4, nodes: 1, freeGpus: 0, mostFreeGpus: 0 },
      { ...common, pool: 'main', gpusPerNode: 8, nodes: 3, freeGpus: 3, mostFreeGpus: 2 },
    ]);
  });
});
