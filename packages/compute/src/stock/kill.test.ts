import { type NodeBooking, nodeBookingKind, type Offering, offeringKind } from '@capstan/api';
import { fleet as wholeFleet } from '@capstan/fleet';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { describe, expect, test, vi } from 'vitest';
import { mortal } from '../allocations/testing.ts';
import { computeProduct } from '../product.ts';
import { PretendFleet, TenantUnits } from '../units/testing/pretend-fleet.ts';
import { WarmingAgents } from './testing.ts';

const patiently = { timeout: 60_000, interval: 30 };

/** A cloud whose controllers of the product are killed after so many writes, again and again. */
async function startDying(writes: number, onDeath: () => void): Promise<Cloud> {
  const { controllers, ...product } = computeProduct({ explainEvery: 30 });
  const dying = controllers.map(({ name, make }) => ({
    name,
    make: (places: Parameters<typeof make>[0]) => mortal(make(places), { writes, onDeath }),
  }));
  return await startCloud({
    products: [
      { ...wholeFleet, controllers: [] },
      { ...product, controllers: dying },
    ],
    tenants: 1,
  });
}

describe('controllers that are killed', () => {
  // A handover is two writes of the scheduler, the first of which decides; a life ends before, between or after them.
  test.each([1, 2, 3])(
    'after %d writes give every warm unit to one unit, lose none and refill',
    async (writes) => {
      let deaths = 0;
      await using cloud = await startDying(writes, () => deaths++);
      const fleet = new PretendFleet(cloud.platform);
      const tenant = new TenantUnits(cloud.tenants[0]!.client);
      const eventually = <T>(check: () => Promise<T>): Promise<T> => vi.waitFor(check, patiently);
      await eventually(() => Promise.all([fleet.nodes().list(), fleet.nodeUnits().list()]));
      await using _agents = new WarmingAgents(fleet);
      const entries = async () =>
        (await cloud.platform.resource<NodeBooking>(nodeBookingKind).list()).items.flatMap(({ spec }) => spec.entries);
      const isStocked = (count: number) =>
        eventually(async () => {
          const warm = (await entries()).filter(({ stock }) => stock !== undefined);
          expect(warm).toHaveLength(count);
          const prepared = (await fleet.nodeUnits().list()).items.filter(({ spec }) => spec.warm);
          expect(prepared.map(({ spec }) => spec.allocation).toSorted()).toEqual(warm.map(({ allocation }) => allocation.uid).toSorted());
        });
      await fleet.makePool('pool', { gpus: 6 });
      const setStock = (units: number) =>
        cloud.platform.resource<Offering>(offeringKind).patch('pool', { type: 'merge', patch: { spec: { stock: { units } } } });
      await setStock(2);
      await isStocked(2);
      const units = await Promise.all(['a', 'b', 'c', 'd'].map((name) => tenant.create(name, { offering: 'pool' })));
      const running = await eventually(async () => {
        const found = (await Promise.all(units.map((unit) => fleet.of(unit)))).flat();
        expect(found).toHaveLength(4);
        return found;
      });
      await isStocked(2);
      const devices = (await entries()).flatMap((entry) => entry.devices);
      expect([devices.length, new Set(devices).size]).toEqual([6, 6]);
      expect(new Set(running.flatMap(({ spec }) => spec.devices)).size).toBe(4);
      for (const { spec } of running) {
        const own = (await entries()).filter(({ allocation }) => (allocation.uid as string) === spec.allocation);
        expect(own.map((entry) => [entry.state, entry.devices])).toEqual([['Granted', spec.devices]]);
      }
      await setStock(0);
      await isStocked(0);
      expect(deaths).toBeGreaterThan(5);
    },
    90_000,
  );
});
