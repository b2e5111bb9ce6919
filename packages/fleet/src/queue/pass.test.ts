import { describe, expect, it } from 'vitest';
import { ask, gibibyte, makeNode } from '../placement/testing.ts';
import { QueueBench } from './testing.ts';

const nodes = (count: number, gpus = 4) => Array.from({ length: count }, (_, at) => makeNode(`n${at}`, { gpus }));

describe('the order of waiting requests', () => {
  it('is by priority, then by share of the tenant, then by age', () => {
    const bench = new QueueBench(nodes(1, 8));
    bench.add('running', ask(1), { tenant: 'busy' });
    bench.pass();
    bench.add('old, busy', ask(1), { tenant: 'busy', since: -9 });
    bench.add('young, idle', ask(1), { tenant: 'idle', since: -1 });
    bench.add('older, idle', ask(1), { tenant: 'idle', since: -2 });
    bench.add('urgent, busy', ask(1), { tenant: 'busy', priority: 1 });
    expect(bench.pass()).toEqual(['urgent, busy', 'older, idle', 'young, idle', 'old, busy']);
  });

  it('counts the weight of a tenant', () => {
    const bench = new QueueBench(nodes(1, 8));
    bench.weights.set('heavy', 3);
    for (let at = 0; at < 8; at++) for (const tenant of ['heavy', 'light']) bench.add(`${tenant} ${at}`, ask(1), { tenant });
    const granted = bench.pass();
    expect(granted.filter((id) => id.startsWith('heavy'))).toHaveLength(6);
  });

  it('lets small requests pass a large one that does not fit', () => {
    const bench = new QueueBench(nodes(2));
    bench.add('a', ask(3));
    bench.add('b', ask(3));
    bench.pass();
    bench.add('gang', ask(4, { nodes: 2 }), { priority: 9 });
    bench.add('small', ask(1));
    expect(bench.pass()).toEqual(['small']);
  });
});

describe('a gang that has waited long', () => {
  function crowded(): QueueBench {
    const bench = new QueueBench(nodes(3), { holdAfter: 100, holdFor: 1_000 });
    for (const id of ['a', 'b', 'c']) bench.add(id, ask(4));
    bench.pass();
    bench.add('gang', ask(4, { nodes: 2 }));
    bench.now = 100;
    bench.pass();
    return bench;
  }

  it('gets freed devices held for it until it can start', () => {
    const bench = crowded();
    expect(bench.holds).toEqual([{ kind: 'holding', id: 'gang', nodes: ['n0', 'n1'], until: 1_100 }]);
    bench.add('small', ask(1), { priority: 9 });
    bench.finish('a');
    expect(bench.pass()).toEqual([]);
    bench.finish('c');
    expect(bench.pass()).toEqual(['gang']);
    expect(bench.holds).toEqual([]);
  });

  it('leaves other nodes to others', () => {
    const bench = crowded();
    bench.add('small', ask(1));
    bench.finish('c');
    expect(bench.pass()).toEqual(['small']);
    expect(bench.running.get('small')!.parts).toMatchObject([{ node: 'n2' }]);
  });

  it('starts on other nodes if they are free earlier', () => {
    const bench = crowded();
    bench.add('large', ask(4), { priority: 1 });
    bench.finish('b');
    bench.finish('c');
    expect(bench.pass()).toEqual(['gang']);
    bench.finish('a');
    expect(bench.pass()).toEqual(['large']);
  });

  it('loses them when the hold expires, and holds again after a rest', () => {
    const bench = crowded();
    bench.finish('a');
    bench.add('small', ask(1));
    bench.pass();
    bench.now = 1_100;
    expect(bench.pass()).toEqual(['small']);
    expect(bench.holds).toEqual([{ kind: 'resting', id: 'gang', until: 1_200 }]);
    bench.now = 1_200;
    bench.pass();
    expect(bench.holds).toEqual([{ kind: 'holding', id: 'gang', nodes: ['n0', 'n1'], until: 2_200 }]);
  });

  it('holds other nodes when one of its own is cordoned', () => {
    const bench = crowded();
    bench.index.setNode(makeNode('n1', { gpus: 4, cordoned: true }));
    bench.pass();
    expect(bench.holds).toMatchObject([{ nodes: ['n0', 'n2'], until: 1_100 }]);
  });

  it('holds nothing if no release would help, or if enough others hold', () => {
    const bench = crowded();
    bench.add('impossible', ask(5), { since: -500 });
    bench.add('second', ask(4), { since: -400 });
    bench.pass();
    expect(bench.holds.map(({ id }) => id)).toEqual(['gang']);
  });

  it('frees what it held when it is withdrawn', () => {
    const bench = crowded();
    bench.finish('a');
    bench.pass();
    bench.waiting = [];
    bench.add('other', ask(4));
    expect(bench.pass()).toEqual(['other']);
    expect(bench.holds).toEqual([]);
  });
});

describe('a request that a limit refuses once it is placed', () => {
  function limited(): QueueBench {
    const bench = new QueueBench(nodes(1), { holdAfter: 100, holdFor: 1_000 });
    bench.admit = ({ waiting: { tenant } }) => tenant !== 'limited';
    return bench;
  }

  it('leaves what it would get to those behind it, also to one with the same request', () => {
    const bench = limited();
    const request = ask(4);
    bench.add('refused', request, { tenant: 'limited', priority: 9 });
    bench.add('next', request);
    expect(bench.pass()).toEqual(['next']);
    bench.finish('next');
    bench.admit = () => true;
    expect(bench.pass()).toEqual(['refused']);
  });

  it('gets GPUs of another model if the limits allow those', () => {
    const bench = new QueueBench([
      makeNode('n0', { gpus: 4 }),
      makeNode('n1', { gpus: 4, model: 'A100', each: { memory: 40 * gibibyte } }),
    ]);
    const refused: string[] = [];
    bench.admit = ({ placement: { parts } }) => {
      if (parts[0]!.node === 'n0') return true;
      refused.push(parts[0]!.node);
      return false;
    };
    bench.add('any', ask(4, { gpu: {} }));
    expect(bench.pass()).toEqual(['any']);
    expect(refused).toEqual(['n1']);
    expect([...bench.index.bookings('n0').keys()]).toEqual(['any']);
    expect([...bench.index.bookings('n1')]).toEqual([]);
  });

  it('holds nothing, however long it has waited, and gives up what it held', () => {
    const bench = limited();
    bench.add('running', ask(4));
    bench.pass();
    bench.add('refused', ask(4), { tenant: 'limited' });
    bench.now = 100;
    bench.pass();
    expect(bench.holds).toMatchObject([{ kind: 'holding', id: 'refused' }]);
    bench.add('next', ask(4));
    bench.finish('running');
    expect(bench.pass()).toEqual(['next']);
    expect(bench.holds).toEqual([]);
    bench.finish('next');
    bench.now = 500;
    expect(bench.pass()).toEqual([]);
    expect(bench.holds).toEqual([]);
    expect([...bench.index.bookings('n0')]).toEqual([]);
  });
});

describe('a reservation', () => {
  const part = { node: 'n0', devices: ['n0-0', 'n0-1', 'n0-2'], cpu: 1_000, memory: 0 };

  it('keeps devices for its tenant until it expires', () => {
    const bench = new QueueBench(nodes(1));
    bench.reservations = [{ id: 'r', isFor: (tenant) => tenant === 'owner', until: 50, parts: [part] }];
    bench.add('stranger', ask(2));
    expect(bench.pass()).toEqual([]);
    bench.add('owner', ask(3), { tenant: 'owner' });
    expect(bench.pass()).toEqual(['owner']);
    bench.finish('owner');
    expect(bench.pass()).toEqual([]);
    bench.now = 50;
    expect(bench.pass()).toEqual(['stranger']);
  });

  it('takes nothing from those who run, and everything that they release', () => {
    const bench = new QueueBench(nodes(1));
    bench.add('running', ask(4), { tenant: 'stranger' });
    bench.pass();
    bench.reservations = [{ id: 'r', isFor: (tenant) => tenant === 'owner', until: 50, parts: [part] }];
    bench.add('stranger', ask(2));
    expect(bench.pass()).toEqual([]);
    expect(bench.running.has('running')).toBe(true);
    bench.finish('running');
    expect(bench.pass()).toEqual([]);
    bench.add('owner', ask(2), { tenant: 'owner' });
    expect(bench.pass()).toEqual(['owner']);
  });
});
