import { describe, expect, it } from 'vitest';
import { FleetIndex } from './fleet-index.ts';
import type { FleetNode } from './node.ts';
import type { PlacementRequest } from './request.ts';
import { ask, gibibyte, makeNode } from './testing.ts';

function fleet(...nodes: FleetNode[]): FleetIndex {
  const index = new FleetIndex();
  for (const node of nodes) index.setNode(node);
  return index;
}

/** The names of the nodes, or why there are none. */
function answer(index: FleetIndex, request: PlacementRequest): string {
  const result = index.place(request);
  return result.kind === 'placed' ? result.parts.map(({ node }) => node).join(' ') : result.message;
}

const use = (index: FleetIndex, node: string, gpus: number, from = 0): void =>
  index.book(`use of ${node} from ${from}`, {
    node,
    devices: Array.from({ length: gpus }, (_, at) => `${node}-${from + at}`),
    cpu: 0,
    memory: 0,
  });

describe('placing on one node', () => {
  it('packs: the node with the fewest free GPUs that suffices, then by name', () => {
    const index = fleet(makeNode('n1'), makeNode('n2'), makeNode('n3'), makeNode('n0'));
    use(index, 'n2', 3);
    use(index, 'n3', 6);
    expect(answer(index, ask(2))).toBe('n3');
    expect(answer(index, ask(4))).toBe('n2');
    expect(answer(index, ask(8))).toBe('n0');
  });

  it('spreads: the node with the most free GPUs', () => {
    const index = fleet(makeNode('n1'), makeNode('n2'));
    use(index, 'n1', 1);
    expect(answer(index, ask(2, { strategy: 'spread' }))).toBe('n2');
  });

  it('skips nodes without enough cpu or memory', () => {
    const index = fleet(makeNode('n1', { gpus: 2, cpu: 1_000 }), makeNode('n2', { gpus: 3, memory: gibibyte }), makeNode('n3'));
    expect(answer(index, ask(1, { cpu: 2_000, memory: 2 * gibibyte }))).toBe('n3');
  });

  it('gives each GPU its share of cpu and memory', () => {
    const result = fleet(makeNode('n1')).place(ask(2, { cpu: 'share', memory: 'share' }));
    expect(result).toMatchObject({ parts: [{ cpu: 2_000, memory: 16 * gibibyte }] });
  });

  it('takes the smallest cards for a request of any model', () => {
    const index = fleet(
      makeNode('n1', { model: 'H200', each: { memory: 141 * gibibyte } }),
      makeNode('n2', { model: 'L40S', each: { memory: 48 * gibibyte } }),
    );
    expect(answer(index, ask(1, { gpu: {} }))).toBe('n2');
    expect(answer(index, ask(1, { gpu: { memory: 50 * gibibyte } }))).toBe('n1');
  });

  it('keeps requests without GPUs away from free ones', () => {
    const index = fleet(makeNode('n1'), makeNode('n2', { gpus: 0 }));
    expect(answer(index, ask(0, { gpu: {}, cpu: 1_000 }))).toBe('n2');
  });

  it('gives a whole node to one owner', () => {
    const index = fleet(makeNode('n1'), makeNode('n2'));
    use(index, 'n1', 1);
    const whole: PlacementRequest = { nodes: 1, strategy: 'pack', size: { kind: 'node', gpu: { model: 'H100' }, count: 4 } };
    const result = index.place(whole);
    expect(result).toMatchObject({ parts: [{ node: 'n2', exclusive: true, cpu: 8_000 }] });
    if (result.kind === 'placed') index.book('whole', result.parts[0]!);
    expect(answer(index, ask(8))).toBe('needs 8 H100 on one node; free: 7 on n1');
    expect(answer(index, whole)).toBe('needs a whole node with 4 H100; all 2 nodes are in use');
    index.free('whole', 'n2');
    expect(answer(index, whole)).toBe('n2');
  });

  it('gives a fraction of a node, whatever its number of GPUs', () => {
    const index = fleet(makeNode('n4', { gpus: 4 }), makeNode('n8'), makeNode('n3', { gpus: 3 }));
    const half: PlacementRequest = { nodes: 1, strategy: 'spread', size: { kind: 'fraction', gpu: { model: 'H100' }, parts: 2 } };
    expect(index.place(half)).toMatchObject({ parts: [{ node: 'n8', devices: ['n8-0', 'n8-1', 'n8-2', 'n8-3'], cpu: 4_000 }] });
    use(index, 'n8', 8);
    expect(index.place(half)).toMatchObject({ parts: [{ node: 'n4', devices: ['n4-0', 'n4-1'], cpu: 4_000, memory: 32 * gibibyte }] });
  });

  it('gives MIG instances only to those who ask for them', () => {
    const index = fleet(makeNode('n1', { each: { migProfile: '1g.10gb', memory: 10 * gibibyte } }));
    expect(answer(index, ask(1, { gpu: { migProfile: '1g.10gb' } }))).toBe('n1');
    expect(answer(index, ask(1))).toBe('no H100 is whole; there are 1g.10gb');
    expect(answer(index, ask(1, { gpu: { migProfile: '3g.40gb' } }))).toBe('no GPU is divided into 3g.40gb; there are 1g.10gb');
  });

  it('keeps to pools and labels', () => {
    const index = fleet(makeNode('n1', { pool: 'a', labels: { zone: 'x' } }), makeNode('n2', { pool: 'b', labels: { zone: 'y' } }));
    expect(answer(index, ask(1, { pools: ['b'] }))).toBe('n2');
    expect(answer(index, ask(1, { matchLabels: { zone: 'x' } }))).toBe('n1');
    expect(answer(index, ask(1, { pools: ['b'], matchLabels: { zone: 'x' } }))).toBe('no node has the labels zone=x');
    expect(answer(index, ask(1, { matchLabels: { constructor: 'x' } }))).toBe('no node has the labels constructor=x');
  });

  it('keeps to the node that is named, and to the nodes of the offering', () => {
    const index = fleet(makeNode('n1', { pool: 'a', labels: { zone: 'x' } }), makeNode('n2', { pool: 'b' }), makeNode('n3', { pool: 'b' }));
    const on = (node: string, more = {}) => ask(1, { ...more, named: { node, repair: false } });
    expect(answer(index, on('n3'))).toBe('n3');
    expect(answer(index, on('n4'))).toBe('there is no node n4');
    expect(answer(index, on('n3', { pools: ['a'] }))).toBe('n3 is not one of the nodes of the offering');
    expect(answer(index, on('n3', { matchLabels: { zone: 'x' } }))).toBe('n3 is not one of the nodes of the offering');
    use(index, 'n3', 8);
    expect(index.find(on('n3'))).toBeUndefined();
    // Nothing else is kept free for it.
    expect(index.targets(on('n3'))).toEqual(['n3']);
    expect(index.portion(on('n3'), 'n2')).toBeUndefined();
  });

  it('follows changes of a node', () => {
    const index = fleet(makeNode('n1'), makeNode('n2'));
    expect(answer(index, ask(8))).toBe('n1');
    index.setNode(makeNode('n1', { cordoned: true }));
    expect(answer(index, ask(8))).toBe('n2');
    index.setNode(makeNode('n1', { model: 'H200' }));
    expect(answer(index, ask(8, { gpu: { model: 'H200' } }))).toBe('n1');
    index.removeNode('n1');
    expect(answer(index, ask(8, { gpu: { model: 'H200' } }))).toBe('no node has H200; the fleet has H100');
  });

  it('remembers the bookings of a node that was removed or is not known yet', () => {
    const index = fleet();
    use(index, 'n1', 8);
    index.setNode(makeNode('n1'));
    expect(answer(index, ask(1))).toBe('needs 1 H100 on one node; none is free on 1 node');
    index.removeNode('n1');
    index.setNode(makeNode('n1'));
    expect(answer(index, ask(1))).toBe('needs 1 H100 on one node; none is free on 1 node');
  });

  it('finds cpu that became free on a node without any change of its GPUs', () => {
    const index = fleet(makeNode('n1'));
    index.book('busy', { node: 'n1', devices: [], cpu: 8_000, memory: 0 });
    expect(answer(index, ask(1, { cpu: 1_000 }))).toContain('have only 0 CPUs on n1');
    index.free('busy', 'n1');
    expect(answer(index, ask(1, { cpu: 1_000 }))).toBe('n1');
  });

  it('answers for more selectors than it keeps indexes for', () => {
    const index = fleet(...Array.from({ length: 150 }, (_, at) => makeNode(`n${at}`, { labels: { number: `${at}` } })));
    for (const round of [1, 2]) {
      for (let at = 0; at < 150; at++) {
        const request = ask(4, { matchLabels: { number: `${at}` } });
        const found = index.find(request);
        expect(found!.parts[0]!.node).toBe(`n${at}`);
        index.book(`round ${round}`, found!.parts[0]!);
      }
      expect(answer(index, ask(4))).toBe(round === 1 ? 'n0' : 'needs 4 H100 on one node; none is free on 150 nodes');
    }
  });

  it('gives nothing beside an exclusive booking, not even to a request for nothing', () => {
    const index = fleet(makeNode('n1'));
    index.book('whole', { node: 'n1', devices: [], cpu: 0, memory: 0, exclusive: true });
    expect(index.find(ask(0, { gpu: {} }))).toBeUndefined();
  });

  it('replaces the bookings of a node except those that are kept', () => {
    const index = fleet(makeNode('n1'));
    index.book('kept', { node: 'n1', devices: ['n1-0'], cpu: 0, memory: 0 });
    use(index, 'n1', 4, 1);
    index.setBookings('n1', new Map([['new', { devices: ['n1-7'], cpu: 0, memory: 0 }]]), (owner) => owner === 'kept');
    expect(answer(index, ask(7))).toBe('needs 7 H100 on one node; free: 6 on n1');
    index.setBookings('n1', new Map());
    expect(answer(index, ask(8))).toBe('n1');
  });
});

describe('NVLink', () => {
  it('is required: only nodes with so many free GPUs in one group', () => {
    const index = fleet(makeNode('n1', { gpus: 4, linked: 2 }), makeNode('n2', { gpus: 8, linked: 4 }));
    const linked = ask(4, { gpu: { model: 'H100', nvlink: 'required' } });
    expect(answer(index, linked)).toBe('n2');
    use(index, 'n2', 2, 3);
    expect(answer(index, linked)).toBe('needs 4 H100 connected by NVLink on one node; free and connected: 3 on n2, 2 on n1');
  });

  it('is preferred: other nodes if there are no such', () => {
    const index = fleet(makeNode('n1', { gpus: 4, linked: 2 }), makeNode('n2', { gpus: 8, linked: 4 }));
    const linked = ask(4, { gpu: { model: 'H100', nvlink: 'preferred' } });
    expect(answer(index, linked)).toBe('n2');
    use(index, 'n2', 8);
    expect(answer(index, linked)).toBe('n1');
  });
});

describe('placing on several nodes', () => {
  const racks = (): FleetIndex =>
    fleet(
      ...['n1', 'n2', 'n3'].map((name) => makeNode(name, { labels: { rack: 'r1' } })),
      ...['n4', 'n5'].map((name) => makeNode(name, { labels: { rack: 'r2' } })),
      makeNode('n6'),
    );

  it('takes the nodes of one rack, and the rack that is left with the least', () => {
    const topology = { label: 'rack', strength: 'required' } as const;
    expect(answer(racks(), ask(8, { nodes: 2, topology }))).toBe('n4 n5');
    expect(answer(racks(), ask(8, { nodes: 2, topology, strategy: 'spread' }))).toBe('n1 n2');
    expect(answer(racks(), ask(8, { nodes: 3, topology }))).toBe('n1 n2 n3');
    expect(answer(racks(), ask(8, { nodes: 4, topology }))).toBe(
      'needs 4 nodes with the same rack with 8 H100 each; free: 3 in r1, 2 in r2',
    );
  });

  it('uses few racks if one is preferred but does not suffice', () => {
    const topology = { label: 'rack', strength: 'preferred' } as const;
    expect(answer(racks(), ask(8, { nodes: 2, topology }))).toBe('n4 n5');
    expect(answer(racks(), ask(8, { nodes: 4, topology }))).toBe('n1 n2 n3 n4');
    expect(answer(racks(), ask(8, { nodes: 6, topology }))).toBe('n1 n2 n3 n4 n5 n6');
  });

  it('does not mix kinds of GPUs', () => {
    const index = fleet(makeNode('n1'), makeNode('n2', { model: 'A100' }), makeNode('n3', { gpus: 4 }));
    expect(answer(index, ask(2, { gpu: {}, nodes: 2 }))).toBe('n3 n1');
    use(index, 'n3', 4);
    expect(answer(index, ask(2, { gpu: {}, nodes: 2 }))).toBe(
      'needs 2 nodes with 2 GPUs each, all with the same kind of GPU; free: 1 with A100, 1 with H100',
    );
  });
});

describe('a node that is named', () => {
  const broken = makeNode('n1', { cordoned: true, each: { health: 'Failed' } });
  const named = (devices: string[] | undefined, repair: boolean): PlacementRequest =>
    ask(devices?.length ?? 1, { named: { node: 'n1', repair, ...(devices && { devices }) } });

  it('is used if it has enough', () => {
    const index = fleet(makeNode('n0'), makeNode('n1'));
    expect(index.place(named(undefined, false))).toMatchObject({ parts: [{ node: 'n1', devices: ['n1-0'] }] });
    expect(index.place(named(['n1-5', 'n1-3'], false))).toMatchObject({ parts: [{ node: 'n1', devices: ['n1-5', 'n1-3'] }] });
  });

  it('is used for repair although it is cordoned and its GPUs are unhealthy', () => {
    expect(answer(fleet(broken), named(['n1-2'], false))).toBe('n1 is cordoned');
    expect(fleet(broken).place(named(['n1-2'], true))).toMatchObject({ parts: [{ devices: ['n1-2'] }] });
  });

  it('is not used for repair if the GPU is in use', () => {
    const index = fleet(broken);
    use(index, 'n1', 1, 2);
    expect(answer(index, named(['n1-2'], true))).toBe('n1-2 on n1 is in use');
    expect(answer(index, named(['x'], true))).toBe('n1 has no GPU x');
    expect(answer(fleet(), named(['x'], true))).toBe('there is no node n1');
  });
});

describe('the nodes that are worth waiting for', () => {
  const rack = (value: string) => ({ labels: { rack: value } });
  const crowded = (): FleetIndex => {
    const index = fleet(makeNode('n1', rack('r1')), makeNode('n2', rack('r1')), makeNode('n3', rack('r2')), makeNode('n4', rack('r2')));
    use(index, 'n1', 5);
    use(index, 'n2', 7);
    use(index, 'n3', 8);
    use(index, 'n4', 3);
    return index;
  };

  it('are those with the most free GPUs, in one rack if that is required', () => {
    expect(crowded().targets(ask(8))).toEqual(['n4']);
    expect(crowded().targets(ask(8, { nodes: 2 }))).toEqual(['n4', 'n1']);
    expect(crowded().targets(ask(8, { nodes: 2, topology: { label: 'rack', strength: 'required' } }))).toEqual(['n4', 'n3']);
    expect(crowded().targets(ask(8), (node) => node !== 'n4')).toEqual(['n1']);
  });

  it('do not exist if no release would help', () => {
    expect(crowded().targets(ask(9))).toBeUndefined();
    expect(crowded().targets(ask(8, { nodes: 3, topology: { label: 'rack', strength: 'required' } }))).toBeUndefined();
  });

  it('give as much as is free', () => {
    expect(crowded().portion(ask(4, { cpu: 9_000 }), 'n1')).toBeUndefined();
    expect(crowded().portion(ask(4, { cpu: 8_000 }), 'n1')).toEqual({
      node: 'n1',
      devices: ['n1-5', 'n1-6', 'n1-7'],
      cpu: 8_000,
      memory: 0,
    });
    expect(crowded().portion(ask(2), 'n1')!.devices).toHaveLength(2);
  });
});
