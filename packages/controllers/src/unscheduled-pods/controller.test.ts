import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startTestCluster, type TestCluster } from '../suite/cluster.ts';
import { unscheduledPods } from './controller.ts';

const pods = { group: '', version: 'v1', resource: 'pods', namespaced: true };
const nodes = { group: '', version: 'v1', resource: 'nodes', namespaced: false };
const events = { group: '', version: 'v1', resource: 'events', namespaced: true };

let cluster: TestCluster;
beforeAll(async () => void (cluster = await startTestCluster()));
afterAll(() => cluster[Symbol.asyncDispose]());

const makePod = (name: string) =>
  cluster.client
    .resource(pods)
    .in('default')
    .create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    });

async function explained(): Promise<string[]> {
  const { items } = await cluster.client.resource(events).in('default').list({ fieldSelector: 'reason=FailedScheduling' });
  return items.map((event) => (event['involvedObject'] as { name: string }).name).sort();
}

test('records one event per pod across restarts, and none once there is a node', async () => {
  await makePod('early');
  for (const name of ['late', 'later']) {
    await using _ = cluster.run(unscheduledPods({ concurrency: undefined, patience: 1 }));
    await makePod(name);
    await vi.waitFor(async () => expect(await explained()).toContain(name), { timeout: 10_000, interval: 20 });
  }
  expect(await explained()).toEqual(['early', 'late', 'later']);
  await cluster.client.resource(nodes).create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } });
  await using _ = cluster.run(unscheduledPods({ concurrency: undefined, patience: 1 }));
  await makePod('with-node');
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await explained()).toEqual(['early', 'late', 'later']);
});
