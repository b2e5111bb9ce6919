import { createHash } from 'node:crypto';
import type { KubeObject } from '@capstan/machinery';
import type { TestServer } from '../../testing/harness.ts';

/** A schema of the kind that kcp's own tests use. */
export function cowboys(prefix = 'today', properties: object = {}): KubeObject {
  const intent = { type: 'object', properties: { intent: { type: 'string' }, ...properties } };
  const result = { type: 'object', properties: { result: { type: 'string' } } };
  return {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: `${prefix}.cowboys.wildwest.dev` },
    spec: {
      group: 'wildwest.dev',
      names: { plural: 'cowboys', singular: 'cowboy', kind: 'Cowboy', listKind: 'CowboyList' },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: { type: 'object', properties: { spec: intent, status: result } },
          subresources: { status: {} },
        },
      ],
    },
  };
}

export function apiExport(name: string, resource: object = {}, spec: object = {}): KubeObject {
  const cowboy = { group: 'wildwest.dev', name: 'cowboys', schema: 'today.cowboys.wildwest.dev', storage: { crd: {} } };
  return {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name },
    spec: { resources: [{ ...cowboy, ...resource }], ...spec },
  };
}

export function apiBinding(name: string, path: string, spec: object = {}): KubeObject {
  return {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name },
    spec: { reference: { export: { path, name } }, ...spec },
  };
}

const apis = (cluster: string, version: string, resource: string): string => `/clusters/${cluster}/apis/apis.kcp.io/${version}/${resource}`;

async function put(server: TestServer, path: string, body: object, method = 'POST'): Promise<KubeObject> {
  const { code, text } = await server.call(path, { method, body });
  if (code >= 300) throw new Error(`${method} ${path}: ${text}`);
  return JSON.parse(text) as KubeObject;
}

/** Exports cowboys, with an identity. */
export async function share(
  server: TestServer,
  cluster: string,
  spec: object = {},
  offered: KubeObject = cowboys(),
): Promise<{ schema: KubeObject; identity: string }> {
  const schema = await put(server, apis(cluster, 'v1alpha1', 'apiresourceschemas'), offered);
  const made = await put(server, apis(cluster, 'v1alpha2', 'apiexports'), apiExport('cowboys', {}, spec));
  const identity = createHash('sha256').update(cluster).digest('hex');
  const path = `${apis(cluster, 'v1alpha2', 'apiexports')}/cowboys/status`;
  await put(server, path, { ...made, status: { identityHash: identity } }, 'PUT');
  return { schema, identity };
}

/** Binds them, as the controller does. */
export async function bind(
  server: TestServer,
  {
    provider,
    consumer,
    shared,
    spec = {},
  }: { provider: string; consumer: string; shared: Awaited<ReturnType<typeof share>>; spec?: object },
): Promise<void> {
  const { schema, identity } = shared;
  const copy = { ...schema, metadata: { name: `${schema.metadata.uid}.cowboys.wildwest.dev` } };
  await server.call(apis('system:bound-crds', 'v1alpha1', 'apiresourceschemas'), { method: 'POST', body: copy });
  const binding = await put(server, apis(consumer, 'v1alpha2', 'apibindings'), apiBinding('cowboys', provider, spec));
  const { name, uid: UID } = schema.metadata;
  const bound = {
    group: 'wildwest.dev',
    resource: 'cowboys',
    schema: { name, UID, identityHash: identity },
    storageVersions: ['v1alpha1'],
  };
  const status = { apiExportClusterName: provider, phase: 'Bound', boundResources: [bound] };
  await put(server, `${apis(consumer, 'v1alpha2', 'apibindings')}/cowboys/status`, { ...binding, status }, 'PUT');
}
