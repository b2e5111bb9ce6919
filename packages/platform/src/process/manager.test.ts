import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newObject, type ObjectOf } from '@capstan/api';
import { type Client, connectionOf, loadKubeconfig } from '@capstan/client';
import { NotLeadingError, type Runnable } from '@capstan/controller';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { noteKind, notes } from '../examples/notes.ts';
import type { Product, ProductPlaces } from '../product.ts';
import { type Cloud, startCloud, type Tenant } from '../testing/cloud.ts';
import { platformLease, platformManager } from './manager.ts';

const leases = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespaced: true };
const patiently = { timeout: 15_000, interval: 30 };

let cloud: Cloud;
beforeAll(async () => {
  cloud = await startCloud({ products: [], tenants: 1 });
}, 60_000);
afterAll(() => cloud[Symbol.asyncDispose]());

/** A process of its own that takes part in the election. */
function contend(identity: string, products: readonly Product[] = [notes]) {
  const log: string[] = [];
  const connection = connectionOf(loadKubeconfig({ path: join(cloud.server.directory, 'platform-controllers.kubeconfig') }));
  const leaderElection = { ...platformLease, identity, leaseDuration: 3_000, renewDeadline: 2_000, retryPeriod: 100 };
  const health = { host: '127.0.0.1', port: 0 };
  const platform = platformManager({ products, connection, leaderElection, health, log: (line) => log.push(line) });
  const stop = new AbortController();
  const ended = platform.manager.run(stop.signal);
  return {
    log,
    metrics: async () => (await fetch(`http://127.0.0.1:${platform.manager.healthPort}/metrics`)).text(),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
      platform[Symbol.dispose]();
    },
  };
}

test('one of several processes works, and another takes over when it ends', async () => {
  const [tenant] = cloud.tenants as [Tenant];
  const resource = tenant.client.resource<ObjectOf<typeof noteKind>>(noteKind).in('default');
  await using second = await (async () => {
    await using first = contend('first');
    await vi.waitFor(async () => expect(await first.metrics()).toContain('capstan_product_running{product="notes"} 1'), patiently);
    expect(first.log).toContain('lease kube-system/capstan-platform-controllers: leading');
    expect(first.log).toContainEqual(expect.stringMatching(/^product notes: is installed/));
    const waiting = contend('second');
    await vi.waitFor(() => expect(waiting.log).toContainEqual(expect.stringMatching(/^lease .*: waiting, held by first/)), patiently);
    expect(await waiting.metrics()).not.toContain('capstan_product_running{product="notes"} 1');
    return waiting;
  })();
  await vi.waitFor(async () => expect(await second.metrics()).toContain('capstan_product_running{product="notes"} 1'), patiently);
  expect((await cloud.platform.resource(leases).get(platformLease))['spec']).toMatchObject({ holderIdentity: 'second' });
  await vi.waitFor(async () => {
    const spec = { text: 'counted by the second' };
    await resource.create(
      newObject(noteKind, { metadata: { generateName: 'a-', namespace: 'default' }, spec }) as ObjectOf<typeof noteKind>,
    );
  }, patiently);
  await vi.waitFor(async () => expect((await resource.list()).items[0]?.status?.words).toBe(4), patiently);
  expect(await second.metrics()).toMatch(/rest_client_requests_total\{code="201",method="POST"\} \d/);
});

test('the clients of a process that no longer leads refuse to write', async () => {
  const kept = Promise.withResolvers<{ readonly platform: Client; readonly tenants: Client }>();
  const keeping = ({ platform, tenants }: ProductPlaces): Runnable => ({
    name: 'keeping',
    run: ({ signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
        tenants.follow((clients) => {
          for (const client of clients.values()) kept.resolve({ platform, tenants: client });
        }, signal);
      }),
  });
  const { platform, tenants } = await (async () => {
    await using _first = contend('third', [{ ...notes, controllers: [{ name: 'keeping', make: keeping }] }]);
    return await kept.promise;
  })();
  for (const client of [platform, tenants]) {
    expect(client.connection.server).not.toBe(cloud.client.connection.server);
    await expect(client.resource(noteKind).in('default').delete('any')).rejects.toThrow(NotLeadingError);
  }
});

test('a promise that nobody awaits ends no process', async () => {
  const source = `
    import { reportRejections } from ${JSON.stringify(join(import.meta.dirname, 'rejections.ts'))};
    reportRejections((line) => console.log(line.split('\\n')[0]));
    void Promise.reject(new Error('forgotten'));
    setTimeout(() => console.log('alive'), 50);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', source]);
  expect(stdout).toBe('a promise was rejected and nobody awaited it: Error: forgotten\nalive\n');
});
