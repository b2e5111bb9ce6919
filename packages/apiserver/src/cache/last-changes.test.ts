import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asClusterId, type ClusterId } from '@capstan/api';
import { openSqliteStore, type Store, StoreError, type WatchHandler } from '@capstan/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { storedText } from './entry.ts';
import { LastChanges } from './last-changes.ts';
import { storeKey, WatchCache } from './watch-cache.ts';

const roles = { group: 'rbac.authorization.k8s.io', resource: 'roles' };
const clusters = { group: 'core.kcp.io', resource: 'logicalclusters' };

const cleanup = new AsyncDisposableStack();
let store: Store;
let cache: WatchCache;
/** The cache's own watch. */
let watching: WatchHandler;
beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'capstan-changes-'));
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  const opened = cleanup.use(await openSqliteStore({ directory }));
  store = new Proxy(opened, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== 'watch') return typeof value === 'function' ? value.bind(target) : value;
      return (...[range, after, handler]: Parameters<Store['watch']>) => {
        watching = handler;
        return target.watch(range, after, handler);
      };
    },
  });
  cache = cleanup.use(await WatchCache.load({ store, onLost: () => {} }));
});
afterAll(() => cleanup.disposeAsync());

let names = 0;
async function write(resource: { group: string; resource: string }, cluster: ClusterId): Promise<void> {
  const name = `n-${++names}`;
  const object = { apiVersion: 'v1', kind: 'Thing', metadata: { name } };
  const revision = await store.create(storeKey({ ...resource, cluster, namespace: '', name }), storedText(object));
  await cache.atLeast(revision);
}

test('a change in a workspace changes the number of that workspace only', async () => {
  const changes = new LastChanges(cache, [roles, clusters]);
  const before = [changes.in(asClusterId('a')), changes.in(asClusterId('b'))];
  await write(roles, asClusterId('a'));
  const between = [changes.in(asClusterId('a')), changes.in(asClusterId('b'))];
  expect(between[0]).not.toBe(before[0]);
  expect(between[1]).toBe(before[1]);
  await write(clusters, asClusterId('a'));
  expect(changes.in(asClusterId('a'))).toBeGreaterThan(between[0]!);
});

test('ignores other resources', async () => {
  const changes = new LastChanges(cache, [roles]);
  const before = changes.in(asClusterId('a'));
  await write(clusters, asClusterId('a'));
  expect(changes.in(asClusterId('a'))).toBe(before);
});

test('treats every workspace as changed when there are too many to track', async () => {
  const changes = new LastChanges(cache, [roles], 2);
  await write(roles, asClusterId('a'));
  const before = changes.in(asClusterId('b'));
  for (const cluster of ['c', 'd', 'e']) await write(roles, asClusterId(cluster));
  expect(changes.in(asClusterId('b'))).toBeGreaterThan(before);
});

test('treats every workspace as changed after the cache was rebuilt', async () => {
  const changes = new LastChanges(cache, [roles]);
  const before = changes.in(asClusterId('a'));
  await write(clusters, asClusterId('a'));
  watching.failed(new StoreError('unavailable', 'the connection is gone'));
  await expect.poll(() => changes.in(asClusterId('a'))).toBeGreaterThan(before);
});
