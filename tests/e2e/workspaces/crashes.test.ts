import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { type Child, type RunningCapstan, startCapstan, startControllerManager } from '@capstan/testbed';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

const type = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspaces', namespaced: false };
const count = 40;

/** Either process may die at any moment: everything begun is finished, and nothing remains of deleted workspaces. */
describe.each(['controller-manager', 'apiserver'] as const)('when the %s is killed', (victim) => {
  let server: RunningCapstan;
  let manager: Child;
  let client: Client;

  const workspaces = () => client.cluster('root').resource(type);
  const phases = async (): Promise<string[]> => {
    const { items } = await workspaces().list({ labelSelector: 'test=crash' });
    return items.map(({ status }) => String((status as { phase?: string } | undefined)?.phase));
  };
  const connect = (): void => {
    client?.[Symbol.dispose]();
    client = new Client(connectionOf(loadKubeconfig({ path: server.kubeconfig })));
  };
  const crash = async (): Promise<void> => {
    if (victim === 'apiserver') {
      await server.kill();
      await server.restart();
      connect();
      return;
    }
    await manager.kill();
    manager = await startControllerManager(server);
  };

  beforeEach(async () => {
    server = await startCapstan({ store: 'sqlite' });
    manager = await startControllerManager(server);
    connect();
  }, 60_000);
  afterEach(async () => {
    client[Symbol.dispose]();
    await manager.stop();
    await server[Symbol.asyncDispose]();
  });

  test('finishes creating and deleting workspaces', { timeout: 180_000 }, async () => {
    const object = (index: number): KubeObject => ({
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name: `crash-${index}`, labels: { test: 'crash' } },
      spec: { type: { name: 'universal', path: 'root' } },
    });
    await Promise.all(Array.from({ length: count }, (_, index) => workspaces().create(object(index))));
    await crash();
    await vi.waitFor(async () => expect(await phases()).toEqual(Array.from({ length: count }, () => 'Ready')), {
      timeout: 60_000,
      interval: 200,
    });
    const { items } = await workspaces().list({ labelSelector: 'test=crash' });
    const ids = items.map(({ spec }) => (spec as { cluster: string }).cluster);
    expect(new Set(ids).size).toBe(count);
    for (const id of ids)
      expect((await client.cluster(id).resource(namespaces).list()).items.map(({ metadata }) => metadata.name)).toContain('default');
    await workspaces().deleteCollection({ labelSelector: 'test=crash' });
    await crash();
    await vi.waitFor(async () => expect(await phases()).toEqual([]), { timeout: 60_000, interval: 200 });
    for (const id of ids) expect((await client.cluster(id).resource(namespaces).list()).items).toEqual([]);
  });
});

const namespaces = { group: '', version: 'v1', resource: 'namespaces', namespaced: false };
