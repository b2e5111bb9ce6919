import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ask, makeNode } from '../placement/testing.ts';
import { QueueBench } from './testing.ts';

const nodes = (count: number) => Array.from({ length: count }, (_, at) => makeNode(`n${at}`, { gpus: 4 }));
const longest = 20;

describe('the queue', () => {
  it('does not let a request starve behind a stream of smaller, more important ones', () => {
    const small = fc.record({ count: fc.integer({ min: 1, max: 4 }), lasts: fc.integer({ min: 1, max: longest }), priority: fc.nat(5) });
    const rules = { holdAfter: 30, holdFor: 2 * longest, mostHolds: 1 };
    fc.assert(
      fc.property(fc.array(small, { minLength: 60, maxLength: 60 }), fc.integer({ min: 1, max: 3 }), (stream, width) => {
        const bench = new QueueBench(nodes(3), rules);
        const lasts = new Map<string, number>();
        const arrive = (index: number): void => {
          const one = stream[index % stream.length]!;
          lasts.set(`s${index}`, one.lasts);
          bench.add(`s${index}`, ask(one.count), { tenant: `t${index % 3}`, priority: one.priority });
        };
        for (let index = 0; index < 12; index++) arrive(index);
        bench.pass();
        bench.add('gang', ask(4, { nodes: width }), { tenant: 'unlucky', priority: -1 });
        // Everything that runs ends after `longest`, so a hold of twice that time is enough once it is the gang's turn. The small ones that are older than the gang may hold first.
        for (let index = 12; !bench.running.has('gang'); index++) {
          bench.now++;
          for (const [id, { began }] of bench.running) if (bench.now - began >= (lasts.get(id) ?? longest)) bench.finish(id);
          arrive(index);
          const before = new Set(bench.running.keys());
          bench.pass();
          for (const id of before) expect(bench.running.has(id)).toBe(true);
          expect(bench.now).toBeLessThan(rules.holdAfter + 13 * (longest + 1));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('gives no tenant more than one request beyond its weighted share while others wait', () => {
    const tenants = fc.array(fc.record({ weight: fc.integer({ min: 1, max: 4 }), wants: fc.integer({ min: 1, max: 30 }) }), {
      minLength: 2,
      maxLength: 5,
    });
    fc.assert(
      fc.property(tenants, fc.integer({ min: 1, max: 6 }), (list, size) => {
        const bench = new QueueBench(nodes(size));
        for (const [at, { weight, wants }] of list.entries()) {
          bench.weights.set(`t${at}`, weight);
          for (let number = 0; number < wants; number++) bench.add(`t${at}-${number}`, ask(1), { tenant: `t${at}` });
        }
        const granted = bench.pass();
        expect(granted).toHaveLength(
          Math.min(
            4 * size,
            list.reduce((sum, { wants }) => sum + wants, 0),
          ),
        );
        const got = list.map((_, at) => granted.filter((id) => id.startsWith(`t${at}-`)).length);
        for (const [one, { weight }] of list.entries()) {
          for (const [other, { weight: otherWeight, wants }] of list.entries()) {
            if (got[other]! < wants) expect((got[one]! - 1) / weight).toBeLessThanOrEqual(got[other]! / otherWeight + 1e-9);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  it('leaves nothing behind in the index when everything has ended', () => {
    const request = fc.record({
      count: fc.integer({ min: 1, max: 4 }),
      nodes: fc.integer({ min: 1, max: 3 }),
      tenant: fc.constantFrom('a', 'b'),
    });
    const part = { node: 'n1', devices: ['n1-1', 'n1-2'], cpu: 1_000, memory: 0 };
    fc.assert(
      fc.property(fc.array(request, { minLength: 1, maxLength: 30 }), fc.array(fc.nat(100), { maxLength: 30 }), (requests, ends) => {
        const bench = new QueueBench(nodes(3), { holdAfter: 3, holdFor: 4, mostHolds: 2 });
        bench.reservations = [{ id: 'r', isFor: (tenant) => tenant === 'a', until: 20, parts: [part] }];
        for (const [at, { count, nodes: number, tenant }] of requests.entries()) {
          bench.now++;
          bench.add(`q${at}`, ask(count, { nodes: number }), { tenant });
          bench.pass();
          const ids = [...bench.running.keys()];
          const id = ids[(ends[at] ?? 0) % (ids.length || 1)];
          if (id !== undefined && ends[at] !== undefined) bench.finish(id);
        }
        bench.now += 100;
        bench.waiting = [];
        bench.pass();
        for (const id of [...bench.running.keys()]) bench.finish(id);
        for (const name of ['n0', 'n1', 'n2']) expect([...bench.index.bookings(name)]).toEqual([]);
        expect(bench.index.find(ask(4, { nodes: 3 }))).toBeDefined();
      }),
      { numRuns: 200 },
    );
  });
});
