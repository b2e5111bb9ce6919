import { createHash, randomBytes } from 'node:crypto';
import {
  type ApiExport,
  type ApiResourceSchema,
  type ClusterId,
  groupResource,
  identityNamespace,
  rootCluster,
  shardKind,
} from '@capstan/api';
import { renewed } from '@capstan/api/hashes';
import type { ObjectReader } from '@capstan/kinds';
import { applySchemaDefaults, asJson, fieldsOf, type KubeObject, StatusError, sameJson, textOf } from '@capstan/machinery';
import { StoreError } from '@capstan/store';
import type { CacheEntry } from '../../cache/entry.ts';
import type { Serving } from '../../handlers/serving.ts';
import type { RequestContext } from '../../registry/context.ts';
import { create } from '../../registry/create.ts';
import { stampNew } from '../../registry/metadata.ts';
import { cachedEntry, entryAfter, placeOf, storedEntry, type Target, textForStore } from '../../registry/objects.ts';
import { objectOf, type Resource } from '../../registry/resource.ts';
import { update } from '../../registry/update.ts';
import { serverContext } from '../../upkeep/context.ts';
import { exportedByRoot, type RootExport, rootResourceSchemas } from '../kinds/definitions.ts';
import { apiBinding, apiBindingStatus, apiExport, apiExportStatus, identitySecret, logicalCluster, shard } from './objects.ts';
import { platformCluster, platformRights } from './platform-rights.ts';
import { rootTypes } from './types.ts';

const manager = 'kube-apiserver';

/** Sets up the root workspace: creates its LogicalCluster, exports kcp's kinds, and binds them. Safe to repeat. */
export async function bootstrapRoot(serving: Serving, context: RequestContext): Promise<void> {
  const root = new Root(serving, context);
  await root.ensure(logicalCluster());
  await root.ensure({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: identityNamespace } });
  const schemas = new Map<string, ApiResourceSchema>();
  for (const schema of rootResourceSchemas()) schemas.set(schema.metadata.name!, await root.ensure(schema));
  for (const exported of exportedByRoot()) await share(root, exported, schemas);
  for (const type of rootTypes()) await root.renew(type);
  await root.within(platformCluster(serving.cache))?.ensure(platformRights());
}

/** The URL of the server in the Shard; undefined until it is published. */
export function publishedUrl(objects: ObjectReader): string | undefined {
  const found = objects.get({ ...groupResource(shardKind), cluster: rootCluster, namespace: '', name: 'root' });
  return found?.spec?.externalURL || undefined;
}

/** Publishes the URL of the server, from which controllers build the URLs of workspaces and views. */
export async function publishShard(serving: Serving, context: RequestContext, url: string): Promise<void> {
  const root = new Root(serving, context);
  const wanted = shard(url);
  const existing = await root.ensure(wanted);
  if (!sameJson(existing.spec, wanted.spec)) await root.change(existing, '', (object) => ({ ...object, spec: wanted.spec! }));
  const cluster = await root.ensure(logicalCluster());
  const status = { ...cluster.status, phase: 'Ready', URL: `${url}/clusters/${rootCluster}` };
  if (!sameJson(cluster.status, status)) await root.status(cluster, status);
}

async function share(root: Root, exported: RootExport, schemas: ReadonlyMap<string, ApiResourceSchema>): Promise<void> {
  const { name } = exported;
  const secret = await root.ensure(identitySecret(name, randomBytes(32).toString('base64url')));
  const identityHash = hashOf(secret);
  const wanted = apiExport(exported);
  const existing = await root.ensure({ ...wanted, status: apiExportStatus(undefined, identityHash, root.now) });
  const { resources = [] } = wanted.spec!;
  if (!sameJson(existing.spec?.resources, resources))
    await root.change<ApiExport>(existing, '', (object) => ({ ...object, spec: { ...object.spec, resources } }));
  if (existing.status?.identityHash !== identityHash) await root.status(existing, apiExportStatus(existing.status, identityHash, root.now));
  const bound = apiBindingStatus(
    exported.resources.map(({ schema }) => schemas.get(schema)!),
    identityHash,
    root.now,
  );
  const binding = await root.ensure({ ...apiBinding(name), status: bound });
  if (!sameJson(binding.status?.boundResources, bound.boundResources)) await root.status(binding, bound);
}

/** The identity under which all objects of an export are stored. */
export function hashOf(secret: KubeObject): string {
  return createHash('sha256')
    .update(Buffer.from(textOf(fieldsOf(secret['data'])['key']), 'base64'))
    .digest('hex');
}

function isThere(error: unknown): boolean {
  return error instanceof StoreError ? error.code === 'exists' : error instanceof StatusError && error.reason === 'AlreadyExists';
}

/** Writes to the root workspace, or the platform's, concurrently with other servers that do the same. */
class Root {
  readonly #serving: Serving;
  readonly #context: RequestContext;

  constructor(serving: Serving, context: RequestContext) {
    this.#serving = serving;
    this.#context = context;
  }

  get now(): Date {
    return this.#context.now();
  }

  /** The existing object, or else creates it. */
  async ensure<T extends KubeObject>(object: T): Promise<T> {
    const { name = '', namespace = '' } = object.metadata;
    const resource = this.#resourceOf(object);
    const target = { resource, namespace, name };
    const cached = cachedEntry(this.#serving, this.#context, target);
    if (cached !== undefined) return objectOf(resource, cached) as T;
    try {
      return objectOf(resource, await this.#make(target, structuredClone(object))) as T;
    } catch (error) {
      if (!isThere(error)) throw error;
      return objectOf(resource, (await storedEntry(this.#serving, this.#context, target))!) as T;
    }
  }

  /** Creates the object, or brings those of its parts up to date that nobody edited. */
  async renew(object: KubeObject): Promise<void> {
    const existing = await this.ensure(object);
    if (renewed(existing, object) !== undefined) await this.change(existing, '', (current) => renewed(current, object) ?? current);
  }

  /** Writes to another workspace; undefined if there is none. */
  within(cluster: ClusterId | undefined): Root | undefined {
    if (cluster === undefined) return undefined;
    const { objects, now } = this.#context;
    return new Root(this.#serving, serverContext({ cluster, objects, now }));
  }

  async #make(target: Target, object: KubeObject): Promise<CacheEntry> {
    const { resource, namespace } = target;
    if (resource.custom === undefined)
      return (await create(this.#serving, this.#context, { resource, namespace, object, manager, dryRun: false })).entry;
    // These objects are known to be valid; validating them would compile every rule of kcp's kinds at the first start.
    applySchemaDefaults(asJson(object), resource.type);
    stampNew(object, this.now, true);
    const place = placeOf(this.#context, target);
    const text = await textForStore(resource, object);
    const revision = await this.#serving.store.create(place.stored, text);
    return entryAfter(this.#serving, resource, { key: place.cached, text, revision });
  }

  status(object: KubeObject, status: object): Promise<void> {
    return this.change(object, 'status', (current) => ({ ...current, status }));
  }

  async change<T extends KubeObject>(object: T, subresource: '' | 'status', change: (current: T) => T): Promise<void> {
    const { name = '', namespace = '' } = object.metadata;
    await update(this.#serving, this.#context, {
      resource: this.#resourceOf(object),
      namespace,
      name,
      subresource,
      manager,
      dryRun: false,
      change: (current) => ({ object: change(current as T) }),
    });
  }

  #resourceOf(object: KubeObject): Resource {
    return this.#serving.catalogs.of(this.#context.cluster).ofObject(object);
  }
}
