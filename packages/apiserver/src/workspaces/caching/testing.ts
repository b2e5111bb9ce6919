import { createHash } from 'node:crypto';
import type { JsonObject, KubeObject } from '@capstan/machinery';
import type { TestServer } from '../../testing/harness.ts';
import { apiBinding, apiExport } from '../apis/testing.ts';

const names = { plural: 'flavors', singular: 'flavor', kind: 'Flavor', listKind: 'FlavorList' };
const spec: JsonObject = { type: 'object', properties: { gpus: { type: 'integer' }, notes: { type: 'string' } } };
const schema: JsonObject = { type: 'object', properties: { spec } };
const version = { name: 'v1', served: true, storage: true, subresources: { status: {} } };

export const flavors = '/apis/cloud.example.com/v1/flavors';

export function flavor(name: string, labels: Readonly<Record<string, string>> = {}): KubeObject {
  return { apiVersion: 'cloud.example.com/v1', kind: 'Flavor', metadata: { name, labels: { ...labels } }, spec: { gpus: 8 } };
}

export function flavorDefinition(scope = 'Cluster', conversion?: JsonObject): KubeObject {
  const first = { ...version, schema: { openAPIV3Schema: schema } };
  const versions = conversion === undefined ? [first] : [first, { ...first, name: 'v2', storage: false }];
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'flavors.cloud.example.com' },
    spec: { group: 'cloud.example.com', names, scope, versions, ...(conversion !== undefined && { conversion }) },
  };
}

export function cachedResource(name: string, more: object = {}): KubeObject {
  return {
    apiVersion: 'cache.kcp.io/v1alpha1',
    kind: 'CachedResource',
    metadata: { name },
    spec: { group: 'cloud.example.com', version: 'v1', resource: 'flavors', ...more },
  };
}

export function endpointSlice(name: string, of: object): KubeObject {
  return { apiVersion: 'cache.kcp.io/v1alpha1', kind: 'CachedResourceEndpointSlice', metadata: { name }, spec: { cachedResource: of } };
}

const cacheApi = (cluster: string, resource: string): string => `/clusters/${cluster}/apis/cache.kcp.io/v1alpha1/${resource}`;
const sharing = (cluster: string, version: string, resource: string): string =>
  `/clusters/${cluster}/apis/apis.kcp.io/${version}/${resource}`;
const identityOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Does by hand the work of providers, consumers and controllers. */
export class Publishing {
  readonly #server: TestServer;
  #schema: KubeObject | undefined;

  constructor(server: TestServer) {
    this.#server = server;
  }

  async put(path: string, body: object, method = 'POST'): Promise<KubeObject> {
    const { code, text } = await this.#server.call(path, { method, body });
    if (code >= 300) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text) as KubeObject;
  }

  /** Defines flavors in a workspace, publishes those that match the selector, and exports them. */
  async publish(
    cluster: string,
    { labelSelector, offered = 'v1', conversion }: { labelSelector?: object; offered?: string; conversion?: JsonObject } = {},
  ): Promise<void> {
    const definition = flavorDefinition('Cluster', conversion);
    await this.put(`/clusters/${cluster}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`, definition);
    await this.cache(cluster, 'flavors', labelSelector === undefined ? {} : { labelSelector });
    await this.put(cacheApi(cluster, 'cachedresourceendpointslices'), endpointSlice('flavors', { name: 'flavors' }));
    this.#schema = await this.put(sharing(cluster, 'v1alpha1', 'apiresourceschemas'), {
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIResourceSchema',
      metadata: { name: 'today.flavors.cloud.example.com' },
      spec: { group: 'cloud.example.com', names, scope: 'Cluster', versions: [{ ...version, name: offered, schema }] },
    });
    await this.offer(cluster, 'catalog', { name: 'flavors' });
  }

  async cache(cluster: string, name: string, more: object = {}): Promise<void> {
    const made = await this.put(cacheApi(cluster, 'cachedresources'), cachedResource(name, more));
    const identityHash = identityOf(`${cluster} flavors`);
    await this.put(`${cacheApi(cluster, 'cachedresources')}/${name}/status`, { ...made, status: { identityHash } }, 'PUT');
  }

  /** Creates an export with virtual storage. */
  async offer(cluster: string, name: string, reference: object, more: object = {}): Promise<void> {
    const virtual = {
      reference: { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', ...reference },
      identityHash: identityOf(`${cluster} flavors`),
      ...more,
    };
    const resource = { group: 'cloud.example.com', name: 'flavors', schema: 'today.flavors.cloud.example.com', storage: { virtual } };
    const made = await this.put(sharing(cluster, 'v1alpha2', 'apiexports'), apiExport(name, resource));
    const status = { identityHash: identityOf(`${cluster} ${name}`) };
    await this.put(`${sharing(cluster, 'v1alpha2', 'apiexports')}/${name}/status`, { ...made, status }, 'PUT');
  }

  async bind(consumer: string, provider: string, name = 'catalog'): Promise<void> {
    const { metadata } = this.#schema!;
    const copy = { ...this.#schema!, metadata: { name: `${metadata.uid}.flavors.cloud.example.com` } };
    await this.#server.call(sharing('system:bound-crds', 'v1alpha1', 'apiresourceschemas'), { method: 'POST', body: copy });
    const binding = await this.put(sharing(consumer, 'v1alpha2', 'apibindings'), apiBinding(name, provider));
    await this.bound(consumer, { ...binding }, { provider, name });
  }

  /** Writes the status of a binding, whatever its content. */
  async bound(consumer: string, binding: KubeObject, { provider, name }: { provider: string; name: string }): Promise<void> {
    const { metadata } = this.#schema!;
    const identityHash = identityOf(`${provider} ${name}`);
    const flavor = {
      group: 'cloud.example.com',
      resource: 'flavors',
      schema: { name: metadata.name, UID: metadata.uid, identityHash },
    };
    const status = { apiExportClusterName: provider, phase: 'Bound', boundResources: [flavor] };
    const path = `${sharing(consumer, 'v1alpha2', 'apibindings')}/${binding.metadata.name}/status`;
    await this.put(path, { ...binding, status }, 'PUT');
  }
}
