import { setTimeout as sleep } from 'node:timers/promises';
import { startCapstan, startControllerManager, startEtcd } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { expect, test, vi } from 'vitest';
import { ApiClient } from './apiserver-client.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const quotas = '/api/v1/namespaces/default/resourcequotas';
const json = (value: unknown) => ({ type: 'application/json', value });

const create = async (client: ApiClient, name: string): Promise<number> =>
  (await client.ask('POST', maps, json({ metadata: { name } }))).status;
const names = async (client: ApiClient): Promise<string[]> =>
  (JSON.parse((await client.ask('GET', maps)).body) as { items: { metadata: { name: string } }[] }).items.map(
    ({ metadata }) => metadata.name,
  );
const used = async (client: ApiClient): Promise<number> => {
  const { status } = JSON.parse((await client.ask('GET', `${quotas}/q`)).body) as { status?: { used?: { configmaps?: string } } };
  return Number(status?.used?.configmaps ?? Number.NaN);
};

async function limit(client: ApiClient, most: number): Promise<void> {
  const hard = { configmaps: String(most) };
  await client.ask('POST', quotas, json({ metadata: { name: 'q' }, spec: { hard } }));
}

await describeWith(['etcd'], 'several servers on one etcd', () => {
  test('together admit exactly what fits into a quota', async () => {
    await using etcd = await startEtcd();
    await using one = await startCapstan({ store: 'etcd', etcd });
    await using other = await startCapstan({ store: 'etcd', etcd, beside: one });
    using first = new ApiClient(one.kubeconfig);
    using second = new ApiClient(other.kubeconfig);
    await limit(first, 50);
    const status = { hard: { configmaps: '50' }, used: { configmaps: '0' } };
    await first.ask('PATCH', `${quotas}/q/status`, { type: 'application/merge-patch+json', value: { status } });
    await vi.waitFor(async () => expect(await used(second)).toBe(0), 10_000);
    const codes = await Promise.all(Array.from({ length: 200 }, (_, index) => create(index % 2 === 0 ? first : second, `m-${index}`)));
    expect(codes.filter((code) => code === 201)).toHaveLength(50);
    expect(codes.filter((code) => code === 403)).toHaveLength(150);
    expect([(await names(second)).length, await used(first)]).toEqual([50, 50]);
  });
});

test('a controller-manager killed while counting leaves a quota that is right in the end, and was never exceeded', async () => {
  const most = 20;
  await using server = await startCapstan({ store: 'sqlite' });
  using client = new ApiClient(server.kubeconfig);
  let manager = await startControllerManager(server);
  // Objects that every namespace has count too.
  await vi.waitFor(async () => expect(await names(client)).toContain('kube-root-ca.crt'), 20_000);
  await limit(client, most);
  await vi.waitFor(async () => expect(await used(client)).toBe(1), { timeout: 20_000, interval: 50 });
  const stop = new AbortController();
  let made = 0;
  let largest = 0;
  const churn = async (worker: number): Promise<void> => {
    for (let round = 0; !stop.signal.aborted; round++) {
      const name = `m-${worker}-${round}`;
      if ((await create(client, name)) === 201) made++;
      largest = Math.max(largest, (await names(client)).length);
      await client.ask('DELETE', `${maps}/${name}`);
    }
  };
  const churning = Promise.all(Array.from({ length: 12 }, (_, worker) => churn(worker)));
  for (let round = 0; round < 3; round++) {
    // A manager releases no quota in its first three seconds; after that it does so all the time.
    await sleep(3_300 + Math.random() * 700);
    await manager.kill();
    manager = await startControllerManager(server);
  }
  stop.abort();
  await churning;
  await vi.waitFor(async () => expect(await used(client)).toBe((await names(client)).length), { timeout: 30_000, interval: 100 });
  await manager.stop();
  expect(largest).toBeLessThanOrEqual(most);
  // Without objects created and deleted between the kills the test would prove nothing.
  expect(made).toBeGreaterThan(2 * most);
});
