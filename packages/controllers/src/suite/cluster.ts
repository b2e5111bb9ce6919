import { startTestServer } from '@capstan/apiserver/testing';
import { Client, connectionOf, loadKubeconfig, type Resource } from '@capstan/client';
import type { Runnable } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { vi } from 'vitest';
import { runControllers } from './running.ts';

/** A server, and controllers that can be started and stopped. */
export interface TestCluster extends AsyncDisposable {
  readonly client: Client;
  readonly directory: string;
  readonly kubeconfigPath: string;
  /** Disposing stops them like a crash, without waiting for running work. */
  run(...controllers: Runnable[]): AsyncDisposable;
}

export async function startTestCluster(): Promise<TestCluster> {
  const server = await startTestServer();
  const client = new Client(connectionOf(loadKubeconfig({ path: server.kubeconfigPath })));
  return {
    client,
    directory: server.directory,
    kubeconfigPath: server.kubeconfigPath,
    run: (...controllers) => runControllers({ client }, controllers),
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

export const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };
export const namespaces = { group: '', version: 'v1', resource: 'namespaces', namespaced: false };

export async function makeNamespace(client: Client, name: string): Promise<KubeObject> {
  return client.resource(namespaces).create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
}

export function configMap(name: string, metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata } };
}

/** Waits until the object is gone. */
export async function gone(resource: Resource, name: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const found = await resource.get(name).catch((error: { code?: number }) => {
        if (error.code === 404) return undefined;
        throw error;
      });
      if (found !== undefined) throw new Error(`expected ${name} to be gone, found ${JSON.stringify(found)}`);
    },
    { timeout: 20_000, interval: 20 },
  );
}
