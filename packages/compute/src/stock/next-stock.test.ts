import type { Offering } from '@capstan/api';
import { FleetIndex, type FleetNode, type PlacementRequest, requestFor } from '@capstan/fleet';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newEntry, type WantedStock, type WarmUnit, wantedStock } from './mark.ts';
import { nextStock, type Shelved, type StockPlan } from './next-stock.ts';

const node = (name: string, rest: Partial<FleetNode> = {}): FleetNode => ({
  name,
  pool: 'default',
  labels: {},
  cordoned: false,
  ready: 'True',
  cpu: 8_000,
  memory: 64,
  gpus: [0, 1, 2, 3].map((at) => ({ uuid: `${name}-${at}`, model: 'H100', memory: 80, health: 'Healthy' as const })),
  ...rest,
});
const wantedOf = (name: string, count: number, units: number): WantedStock =>
  wantedStock({ metadata: { name }, spec: { gpu: { count }, cpu: 0, memory: 0, stock: { units } } } as unknown as Offering)!;
const need = (count: number, nodes = 1): PlacementRequest =>
  requestFor({ gpu: { count }, cpu: 0, memory: 0, exclusive: false, strategy: 'Pack' }, { nodes });
const ownerOf = ({ entry }: WarmUnit): string => `${entry.allocation.uid}/${entry.attempt}`;

/** A fleet in memory, in which plans come true at once. */
class Fleet {
  readonly index = new FleetIndex();
  readonly nodes: Map<string, FleetNode>;
  readonly shelf: Shelved[] = [];
  #ids = 0;

  constructor(nodes: readonly FleetNode[]) {
    this.nodes = new Map(nodes.map((one) => [one.name, one]));
    for (const one of nodes) this.index.setNode(one);
  }

  plan(wanted: readonly WantedStock[], needs: readonly PlacementRequest[] = []): StockPlan {
    return nextStock({ index: this.index, nodeOf: (name) => this.nodes.get(name), wanted, shelf: this.shelf, needs });
  }

  apply({ giveUp, add }: StockPlan): void {
    for (const one of giveUp) {
      this.shelf.splice(
        this.shelf.findIndex(({ entry }) => entry === one.entry),
        1,
      );
      this.index.free(ownerOf(one), one.node);
    }
    for (const { wanted, part } of add) {
      const unit = { node: part.node, entry: { ...newEntry(wanted, part, `s${this.#ids++}`), state: 'Granted' as const } };
      this.shelf.push({ ...unit, isPromised: false, isReady: true });
      this.index.book(ownerOf(unit), part);
    }
  }

  booked(): string[] {
    return [...this.nodes.keys()].flatMap((name) => [...this.index.bookings(name).values()].flatMap(({ devices }) => devices));
  }
}

describe('the next stock', () => {
  test.each<{ what: string; change: Partial<FleetNode> }>([
    { what: 'silent', change: { ready: 'Unknown' } },
    { what: 'cordoned or lost', change: { cordoned: true } },
    { what: 'broken', change: { gpus: [0, 1, 2, 3].map((at) => ({ uuid: `a-${at}`, model: 'H100', memory: 80, health: 'Failed' })) } },
  ])('leaves a node that is $what', ({ change }) => {
    const fleet = new Fleet([node('a')]);
    const wanted = [wantedOf('one', 1, 2)];
    fleet.apply(fleet.plan(wanted));
    expect(fleet.shelf).toHaveLength(2);
    fleet.nodes.set('a', node('a', change));
    fleet.index.setNode(fleet.nodes.get('a')!);
    expect(fleet.plan(wanted)).toMatchObject({ giveUp: [{ node: 'a' }, { node: 'a' }], add: [] });
  });

  test('gives up no more than a waiting order needs', () => {
    const fleet = new Fleet([node('a'), node('b')]);
    fleet.apply(fleet.plan([wantedOf('one', 1, 8)]));
    expect(fleet.shelf).toHaveLength(8);
    expect(fleet.plan([wantedOf('one', 1, 8)], [need(3)]).giveUp).toHaveLength(3);
    expect(fleet.plan([wantedOf('one', 1, 8)], [need(4, 2)]).giveUp).toHaveLength(8);
  });

  test('ignores orders that no release can help', () => {
    const fleet = new Fleet([node('a')]);
    expect(fleet.plan([wantedOf('one', 1, 2)], [need(5)])).toMatchObject({ giveUp: [], add: [{}, {}] });
  });

  test('keeps what was promised, and gives up those that are not ready first', () => {
    const fleet = new Fleet([node('a')]);
    fleet.apply(fleet.plan([wantedOf('one', 1, 3)]));
    fleet.shelf[0] = { ...fleet.shelf[0]!, isPromised: true };
    fleet.shelf[2] = { ...fleet.shelf[2]!, isReady: false };
    const { giveUp } = fleet.plan([wantedOf('one', 1, 2)]);
    expect(giveUp.map(({ entry }) => entry)).toEqual([fleet.shelf[2]!.entry]);
    expect(fleet.plan([], [need(4)]).giveUp).toHaveLength(2);
  });

  test('never has a device twice, never exceeds the wish, and never stands in the way of an order', () => {
    const event = fc.record({ units: fc.nat(10), count: fc.integer({ min: 1, max: 2 }), order: fc.option(fc.integer({ min: 1, max: 4 })) });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 20 }), (events) => {
        const fleet = new Fleet([node('a'), node('b'), node('c')]);
        let orders = 0;
        for (const { units, count, order } of events) {
          const wanted = [wantedOf('one', count, units)];
          const request = order === null ? undefined : need(order);
          const isShort = request !== undefined && fleet.index.find(request) === undefined;
          const before = fleet.booked().toSorted();
          const plan = fleet.plan(wanted, isShort ? [request] : []);
          expect(fleet.booked().toSorted()).toEqual(before);
          fleet.apply(plan);
          const found = request && fleet.index.find(request);
          if (isShort && fleet.shelf.length > 0) {
            // Whatever is left would not help: without all of it, there is no room either.
            if (found === undefined) for (const one of fleet.shelf) fleet.index.free(ownerOf(one), one.node);
            expect(fleet.index.find(request)).toEqual(found);
            if (found === undefined) for (const one of fleet.shelf) fleet.index.book(ownerOf(one), { node: one.node, ...one.entry });
          }
          for (const part of found?.parts ?? []) fleet.index.book(`order-${orders++}`, part);
          const devices = fleet.booked();
          expect(new Set(devices).size).toBe(devices.length);
          expect(fleet.shelf.length).toBeLessThanOrEqual(units);
        }
      }),
      { numRuns: 200 },
    );
  });
});
