import { join } from 'node:path';
import { type LogicalCluster, logicalClusterKind, logicalClusterName, type Workspace, workspaceKind } from '@capstan/api';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { vi } from 'vitest';
import { logicalClusterController } from '../tenancy/logical-clusters/controller.ts';
import { workspaceTypeController } from '../tenancy/workspace-types/controller.ts';
import { workspaceController } from '../tenancy/workspaces/controller.ts';
import { runControllers } from './running.ts';

/** A server, its administrator's client, and controllers with their real account. */
export interface Tenants extends AsyncDisposable {
  readonly server: TestServer;
  readonly client: Client;
  readonly log: string[];
  /** Disposing stops them like a crash. */
  run(): AsyncDisposable;
}

export async function startTenants(): Promise<Tenants> {
  const server = await startTestServer();
  const client = new Client(connectionOf(loadKubeconfig({ path: server.kubeconfigPath })));
  const manager = connectionOf(loadKubeconfig({ path: join(server.directory, 'controller-manager.kubeconfig') }));
  const account = new Client({ ...manager, impersonate: { user: 'system:serviceaccount:kube-system:workspace-controller' } });
  const log: string[] = [];
  return {
    server,
    client,
    log,
    run: () =>
      runControllers({ client: account.cluster('*'), log: (line) => log.push(line) }, [
        workspaceController(),
        logicalClusterController(),
        workspaceTypeController(),
      ]),
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      account[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

export function workspace(name: string, spec: Workspace['spec'] = {}): Workspace {
  return { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name }, spec };
}

/** Creates a Workspace and waits until it is ready. */
export async function make(client: Client, parent: string, object: Workspace): Promise<Workspace> {
  await client.cluster(parent).resource<Workspace>(workspaceKind).create(object);
  return eventually(client, parent, object.metadata.name!, ({ status }) => status?.phase === 'Ready');
}

/** Waits until the Workspace satisfies the condition. */
export async function eventually(client: Client, parent: string, name: string, is: (found: Workspace) => boolean): Promise<Workspace> {
  return vi.waitFor(
    async () => {
      const found = await client.cluster(parent).resource<Workspace>(workspaceKind).get(name);
      if (!is(found)) throw new Error(`not yet: ${JSON.stringify(found)}`);
      return found;
    },
    { timeout: 10_000, interval: 20 },
  );
}

/** Waits until the Workspace is gone. */
export async function untilGone(client: Client, parent: string, name: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const left = await client.cluster(parent).resource<Workspace>(workspaceKind).list();
      const found = left.items.find(({ metadata }) => metadata.name === name);
      if (found !== undefined) throw new Error(`still there: ${JSON.stringify(found)}`);
    },
    { timeout: 10_000, interval: 20 },
  );
}

export const logicalClusterAt = (client: Client, path: string): Promise<LogicalCluster> =>
  client.cluster(path).resource<LogicalCluster>(logicalClusterKind).get(logicalClusterName);

export const configMap = (name: string, metadata: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
});
