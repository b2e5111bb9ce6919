import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startTestCluster, type TestCluster } from '../suite/cluster.ts';
import { RoleAggregation } from './controller.ts';

const clusterRoles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles', namespaced: false };
const rule = (resource: string) => ({ apiGroups: ['shop.example.com'], resources: [resource], verbs: ['get'] });
const patience = { timeout: 20_000, interval: 20 };

let cluster: TestCluster;
let running: AsyncDisposable;

beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const roles = () => cluster.client.resource(clusterRoles);
const make = (name: string, labels: Record<string, string>, more: object): Promise<KubeObject> =>
  roles().create({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name, labels }, ...more });
const rulesOf = async (name: string): Promise<unknown> => (await roles().get(name))['rules'] ?? [];
const gathering = (label: string) => ({ aggregationRule: { clusterRoleSelectors: [{ matchLabels: { gather: label } }] }, rules: [] });

test('a new server has the rules of its aggregated roles before any controller ran', async () => {
  for (const name of ['admin', 'edit', 'view']) expect(await rulesOf(name)).not.toEqual([]);
});

test('aggregates roles that existed before, and those that are created and deleted later', async () => {
  await make('shop-all', {}, gathering('shop'));
  await make('shop-carts', { gather: 'shop' }, { rules: [rule('carts')] });
  running = cluster.run(new RoleAggregation());
  await vi.waitFor(async () => expect(await rulesOf('shop-all')).toEqual([rule('carts')]), patience);
  await make('shop-orders', { gather: 'shop' }, { rules: [rule('orders')] });
  await vi.waitFor(async () => expect(await rulesOf('shop-all')).toEqual([rule('carts'), rule('orders')]), patience);
  await roles().delete('shop-carts');
  await vi.waitFor(async () => expect(await rulesOf('shop-all')).toEqual([rule('orders')]), patience);
  await roles().delete('shop-orders');
  await vi.waitFor(async () => expect(await rulesOf('shop-all')).toEqual([]), patience);
});

test('replaces rules that somebody wrote by hand', async () => {
  await make('hand-made', {}, { ...gathering('nothing'), rules: [rule('everything')] });
  await vi.waitFor(async () => expect(await rulesOf('hand-made')).toEqual([]), patience);
});

test('aggregates a part of view into edit and admin too, and the rights take effect', async () => {
  await make('things-viewer', { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }, { rules: [rule('things')] });
  for (const name of ['view', 'edit', 'admin'])
    await vi.waitFor(async () => expect(await rulesOf(name)).toContainEqual(rule('things')), patience);
});
