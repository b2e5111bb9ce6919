import {
  type ApiBinding,
  type ApiExport,
  type ApiResourceSchema,
  apiBindingKind,
  apiExportKind,
  apiResourceSchemaKind,
} from '@capstan/api';
import { createWorkspace, startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import type { Runnable } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { runControllers } from '../suite/running.ts';
import { bindingController } from './bindings/controller.ts';
import { endpointSliceController } from './endpoint-slices/controller.ts';
import { exportController } from './exports/controller.ts';
import { schemaCopyController } from './schemas/controller.ts';

/** A server with the controllers for shared APIs. */
export interface SharingSuite extends AsyncDisposable {
  readonly server: TestServer;
  /** A client for a workspace, which is created if it is missing. */
  workspace(id: string): Promise<Client>;
}

export async function startSharing(more: readonly Runnable[] = []): Promise<SharingSuite> {
  const server = await startTestServer();
  const client = new Client(connectionOf(loadKubeconfig({ path: server.kubeconfigPath })));
  const sharing = [exportController(), endpointSliceController(), bindingController(), schemaCopyController()];
  const running = runControllers({ client: client.cluster('*') }, [...sharing, ...more]);
  return {
    server,
    async workspace(id) {
      await createWorkspace(server, id);
      return client.cluster(id);
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      client[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

export const cowboyType = { group: 'wildwest.dev', version: 'v1alpha1', resource: 'cowboys', namespaced: true };

export function cowboySchema(prefix: string, names: object = {}): ApiResourceSchema {
  const spec = { type: 'object', properties: { intent: { type: 'string' } } };
  return {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: `${prefix}.cowboys.wildwest.dev` },
    spec: {
      group: 'wildwest.dev',
      names: { plural: 'cowboys', singular: 'cowboy', kind: 'Cowboy', listKind: 'CowboyList', ...names },
      scope: 'Namespaced',
      versions: [
        { name: 'v1alpha1', served: true, storage: true, schema: { type: 'object', properties: { spec } }, subresources: {} },
      ] as never,
    },
  };
}

export function cowboyExport(name: string, schema: string, spec: Partial<ApiExport['spec']> = {}): ApiExport {
  const resources = [{ group: 'wildwest.dev', name: 'cowboys', schema: `${schema}.cowboys.wildwest.dev`, storage: { crd: {} } }];
  return { apiVersion: 'apis.kcp.io/v1alpha2', kind: 'APIExport', metadata: { name }, spec: { resources, ...spec } };
}

export function binding(name: string, path: string, spec: Partial<ApiBinding['spec']> = {}): ApiBinding {
  const reference = { export: { path, name } };
  return { apiVersion: 'apis.kcp.io/v1alpha2', kind: 'APIBinding', metadata: { name }, spec: { reference, ...spec } };
}

/** Exports cowboys from a workspace. */
export async function offer(provider: Client, name: string, spec: Partial<ApiExport['spec']> = {}): Promise<void> {
  await provider.resource<ApiResourceSchema>(apiResourceSchemaKind).create(cowboySchema('today'));
  await provider.resource<ApiExport>(apiExportKind).create(cowboyExport(name, 'today', spec));
}

export const cowboy = (name: string, metadata: object = {}): KubeObject => ({
  apiVersion: 'wildwest.dev/v1alpha1',
  kind: 'Cowboy',
  metadata: { name, namespace: 'default', ...metadata },
  spec: { intent: 'yeehaw' },
});

export const bindings = (client: Client) => client.resource<ApiBinding>(apiBindingKind);
export const exports = (client: Client) => client.resource<ApiExport>(apiExportKind);
