import { defineKind, newObject, type ObjectOf, schema } from '@capstan/api';
import { isNotFound, objectKey } from '@capstan/client';
import { acrossEndpoints, controller, done, finalize, ignoring, originsOf, patchStatus, withOrigin } from '@capstan/controller';
import { expect, test, vi } from 'vitest';
import type { Product, ProductPlaces } from '../product.ts';
import { startCloud, type Tenant } from './cloud.ts';

const { integer, object, optional, text } = schema;
const group = 'orders.example.com';
const parts = { group, scope: 'Cluster' } as const;

/** Written in root:platform, and read everywhere. */
const priceKind = defineKind({
  ...parts,
  kind: 'Price',
  plural: 'prices',
  description: 'What something costs.',
  versions: { v1alpha1: { spec: object('The price.', { amount: integer('In cents.') }) } },
});
/** Made in root:platform for each order. */
const jobKind = defineKind({
  ...parts,
  kind: 'Job',
  plural: 'jobs',
  description: 'Work for an order.',
  versions: { v1alpha1: { spec: object('The work.', { what: text('What to do.') }) } },
});
const orderKind = defineKind({
  ...parts,
  kind: 'Order',
  plural: 'orders',
  description: 'An order of a tenant.',
  versions: {
    v1alpha1: {
      spec: object('The order.', { what: text('The name of a Price.') }),
      status: object('Its state.', { cents: optional(integer('Its price.')) }),
    },
  },
});
type Order = ObjectOf<typeof orderKind>;
type Price = ObjectOf<typeof priceKind>;
type Job = ObjectOf<typeof jobKind>;

/** Uses both places at once: orders in tenants' workspaces, prices and jobs in root:platform. */
const fulfilment = ({ tenants, platform }: ProductPlaces) =>
  acrossEndpoints(
    tenants,
    controller('fulfilment')
      .for<Order>(orderKind)
      .reads((orders, at) => ({
        orders: orders.informer<Order>(orderKind),
        prices: at(platform).informer<Price>(priceKind),
        jobs: at(platform).informer<Job>(jobKind),
      }))
      .watches<Price>(
        priceKind,
        ({ metadata }, { orders }) =>
          orders
            .list()
            .filter(({ spec }) => spec.what === metadata.name)
            .map(objectKey),
        { client: platform },
      )
      .watches(jobKind, originsOf, { client: platform })
      .reconcile(async ({ key, object: order, copies, client, wrote }) => {
        if (order === undefined) return done;
        const jobs = platform.resource<Job>(jobKind);
        const name = `${key.cluster}-${key.name}`;
        const cleanUp = async () => {
          await ignoring(jobs.delete(name), isNotFound);
          return true;
        };
        const { state, object: current } = await finalize(client.resource<Order>(orderKind), order, {
          finalizer: `${group}/jobs`,
          cleanUp,
        });
        wrote(current);
        if (state === 'deleting') return done;
        if (copies.jobs.get({ name }) === undefined) {
          const job = newObject(jobKind, { metadata: { name }, spec: { what: order.spec.what } });
          wrote(await jobs.create(withOrigin(job, order)), jobKind);
        }
        const cents = copies.prices.get({ name: order.spec.what })?.spec.amount;
        if (cents !== undefined) wrote(await patchStatus(client.resource<Order>(orderKind), current, { cents }));
        return done;
      }),
  );

const orders: Product = {
  name: 'orders',
  kinds: [orderKind, priceKind, jobKind],
  catalogs: [priceKind],
  boundBy: ['platform', 'project'],
  rules: [
    { apiGroups: [group], resources: ['prices'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: [group], resources: ['jobs'], verbs: ['create', 'delete', 'get', 'list', 'watch'] },
  ],
  controllers: [{ name: 'fulfilment', make: fulfilment }],
};

const patiently = { timeout: 15_000, interval: 30 };

test('a product uses the objects of tenants, its catalog and its own objects in root:platform together', async () => {
  await using cloud = await startCloud({ products: [orders], tenants: 2 });
  const prices = cloud.platform.resource<Price>(priceKind);
  const jobs = async () => (await cloud.platform.resource<Job>(jobKind).list()).items.length;
  const of = ({ client }: Tenant) => client.resource<Order>(orderKind);
  await prices.create(newObject(priceKind, { metadata: { name: 'lamp' }, spec: { amount: 300 } }));
  for (const tenant of cloud.tenants) await of(tenant).create(newObject(orderKind, { metadata: { name: 'mine' }, spec: { what: 'lamp' } }));
  for (const tenant of cloud.tenants)
    await vi.waitFor(async () => expect((await of(tenant).get('mine')).status).toEqual({ cents: 300 }), patiently);
  expect(await jobs()).toBe(2);

  // A change in the catalog reaches the orders of all tenants.
  await prices.patch('lamp', { type: 'merge', patch: { spec: { amount: 250 } } });
  for (const tenant of cloud.tenants)
    await vi.waitFor(async () => expect((await of(tenant).get('mine')).status).toEqual({ cents: 250 }), patiently);

  // Somebody deletes what was made for an order: it is made again.
  const [job] = (await cloud.platform.resource<Job>(jobKind).list()).items;
  await cloud.platform.resource<Job>(jobKind).delete(job!.metadata.name!);
  await vi.waitFor(async () => expect(await jobs()).toBe(2), patiently);

  // The finalizer removes it with the order.
  for (const tenant of cloud.tenants) await of(tenant).delete('mine');
  await vi.waitFor(async () => expect(await jobs()).toBe(0), patiently);
  for (const tenant of cloud.tenants) await vi.waitFor(async () => expect((await of(tenant).list()).items).toEqual([]), patiently);
});
