import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Client, clusterOf, isForbidden, isNotFound, type ObjectKey } from '@capstan/client';
import { controller, done, type Result, type Runnable, removeFinalizer, requeueAfter } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { type CachingCaches, withCachingCaches } from '../../caching/caches.ts';
import { type CachedResource, type CachedSlice, cachedResourceType, cachedSliceType } from '../../caching/kinds.ts';
import { publishesOtherwise, readinessOf } from '../../caching/readiness.ts';
import { withConditions } from '../../kcp-conditions.ts';
import { keysOf, type SharingCaches } from '../caches.ts';
import {
  type ApiBinding,
  type ApiExport,
  type BoundResource,
  bindingType,
  boundSchemasCluster,
  type Conversion,
  conversionType,
  exportType,
  type ResourceSchema,
  schemaType,
} from '../kinds.ts';
import { keepConversion } from '../schemas/conversions.ts';
import { copyName, SchemaCopies, uidOfCopy } from '../schemas/copies.ts';
import { whenShut } from '../shut.ts';
import { emptyKind } from './content.ts';
import { deletionCondition, type Remains } from './deletion.ts';
import { Locks } from './locks.ts';
import { reconcileBinding } from './reconcile.ts';
import { takenKinds } from './taken.ts';

/** In milliseconds: so long something that was written may take to come back. */
const patience = 500;
const finalizer = 'apis.kcp.io/apibinding-finalizer';
const exportLabel = 'internal.apis.kcp.io/export';

/** Makes bindings what they ask for, and takes away what they brought when they go. */
export function bindingController({ concurrency = 16 }: { readonly concurrency?: number | undefined } = {}): Runnable {
  const locks = new Locks();
  const copies = new SchemaCopies();
  return withCachingCaches((caching) => {
    const caches = (): SharingCaches => caching().sharing;
    const consumers = (object: KubeObject): ObjectKey[] => keysOf(caching().consumersOf(clusterOf(object) ?? ''));
    return controller('apibinding')
      .for<ApiBinding>(bindingType)
      .watches<ApiExport>(exportType, (object) => keysOf(caches().bindingsTo(object)))
      .watches<CachedResource>(cachedResourceType, consumers, { predicate: publishesOtherwise })
      .watches<CachedSlice>(cachedSliceType, consumers)
      .watches(schemaType, (schema) => keysOf(bindingsWith(caches(), schema.metadata.name ?? '', clusterOf(schema) ?? '')), {
        metadataOnly: true,
      })
      .watches<Conversion>(conversionType, (rules) => {
        const cluster = clusterOf(rules) ?? '';
        return cluster === boundSchemasCluster ? [] : keysOf(bindingsWith(caches(), rules.metadata.name ?? '', cluster));
      })
      .reconcile(
        ({ key, object, client, signal }) =>
          object === undefined ? done : new Work({ key, client, signal, caches: caches(), caching: caching(), locks, copies }).run(object),
        { concurrency, backoff: { base: 100, max: 30_000 } },
      );
  });
}

/** Bindings that a schema matters to: to exports that name it, or served by this copy. */
function bindingsWith(caches: SharingCaches, schema: string, cluster: string): ApiBinding[] {
  if (cluster === boundSchemasCluster) return caches.bindings.byIndex('schema', uidOfCopy(schema));
  return caches.exports.byIndex('schema', `${cluster}|${schema}`).flatMap((object) => caches.bindingsTo(object));
}

interface Parts {
  readonly key: ObjectKey;
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly caches: SharingCaches;
  readonly caching: CachingCaches;
  readonly locks: Locks;
  readonly copies: SchemaCopies;
}

class Work {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async run(binding: ApiBinding): Promise<Result> {
    try {
      if (binding.metadata.deletionTimestamp !== undefined) return await this.#delete(binding);
      return await this.#parts.locks.hold(this.#cluster, () => this.#bind(binding));
    } catch (error) {
      // The bindings of a workspace come before it can be entered, and go with it.
      return isNotFound(error) ? requeueAfter(waitFor(binding.metadata.creationTimestamp)) : whenShut(error);
    }
  }

  get #cluster(): string {
    return this.#parts.key.cluster ?? '';
  }

  async #bind(binding: ApiBinding): Promise<Result> {
    const { client, signal, key } = this.#parts;
    const { status, isWaiting } = await reconcileBinding(binding, {
      getExport: () => this.#export(binding),
      getSchema: (cluster, name) => this.#schema(cluster, name),
      taken: () => takenKinds({ cluster: this.#cluster, except: key.name }, this.#parts),
      keepSchema: (schema) => this.#keep(schema),
      readiness: (cluster, resource) => readinessOf(this.#parts.caching, cluster, resource),
      now: () => new Date(),
    });
    if (!isDeepStrictEqual(status, binding.status)) {
      const written = await client.resource<ApiBinding>(bindingType).updateStatus({ ...binding, status }, { signal });
      await this.#seen(written);
      if (binding.status?.apiExportClusterName && status.apiExportClusterName !== binding.status.apiExportClusterName)
        await this.#relabel(written);
    }
    return isWaiting ? requeueAfter(waitFor(binding.metadata.creationTimestamp)) : done;
  }

  /** The export lies elsewhere now: the server says anew which one it is. */
  async #relabel(binding: ApiBinding): Promise<void> {
    const { client, signal } = this.#parts;
    const { [exportLabel]: _, ...labels } = binding.metadata.labels ?? {};
    await client.resource<ApiBinding>(bindingType).update({ ...binding, metadata: { ...binding.metadata, labels } }, { signal });
  }

  /** Waits until the copy has what was written: the next one who binds in this workspace looks there. */
  async #seen({ metadata }: ApiBinding): Promise<void> {
    const { caches, key, signal } = this.#parts;
    for (let wait = 1; wait < patience; wait *= 2) {
      const known = caches.bindings.get(key);
      if (known === undefined || known.metadata.resourceVersion === metadata.resourceVersion) return;
      await sleep(wait, undefined, { signal });
    }
  }

  async #export(binding: ApiBinding): Promise<{ cluster: string; object: ApiExport } | undefined> {
    const { caches, client, signal } = this.#parts;
    const reference = binding.spec?.reference?.export;
    if (reference === undefined) return undefined;
    const known = caches.exportOf(binding);
    if (known !== undefined) return { cluster: clusterOf(known) ?? '', object: known };
    // Another workspace at the same path is somebody else, unless it has the key that objects are kept under: their identity tells.
    const another = (binding.status?.boundResources ?? []).length === 0 ? undefined : caches.exportAt(reference, this.#cluster);
    if (another !== undefined) return { cluster: clusterOf(another) ?? '', object: another };
    // A path may lead there in other ways than the one that the export names.
    if (!reference.path || binding.status?.apiExportClusterName) return undefined;
    try {
      const object = await client.cluster(reference.path).resource<ApiExport>(exportType).get(reference.name, { signal });
      return { cluster: clusterOf(object) ?? '', object };
    } catch (error) {
      if (isNotFound(error) || isForbidden(error)) return undefined;
      throw error;
    }
  }

  #schema(cluster: string, name: string): Promise<ResourceSchema | undefined> {
    const { caches, client, copies, signal } = this.#parts;
    return copies.original(client, { cluster, name, uid: caches.schemas.get({ cluster, name })?.metadata.uid, signal });
  }

  async #keep(schema: ResourceSchema): Promise<string | undefined> {
    const { caches, client, copies, signal } = this.#parts;
    const { group, names } = schema.spec!;
    const name = copyName(schema.metadata.uid ?? '', { group, resource: names.plural });
    const rules = caches.conversions.get({ cluster: clusterOf(schema) ?? '', name: schema.metadata.name ?? '' });
    const copy = caches.conversions.get({ cluster: boundSchemasCluster, name });
    // Before the schema: what is served is converted from its first moment.
    if (rules !== undefined) await keepConversion(client, { rules, copy, name }, signal);
    if (caches.schemas.get({ cluster: boundSchemasCluster, name }) !== undefined) return undefined;
    return copies.keep(client, schema, signal);
  }

  /** Everything that the binding brought goes first; what holds it up is told. */
  async #delete(binding: ApiBinding): Promise<Result> {
    const { client, signal } = this.#parts;
    const bindings = client.resource<ApiBinding>(bindingType);
    if (binding.metadata.finalizers?.includes(finalizer) !== true) return done;
    const remains = new Map<BoundResource, Remains>();
    for (const bound of binding.status?.boundResources ?? []) remains.set(bound, await this.#empty(bound, binding));
    const condition = deletionCondition(remains);
    if (condition.status === 'True') {
      await removeFinalizer(bindings, binding, finalizer);
      return done;
    }
    const conditions = withConditions(binding.status?.conditions, [condition], new Date());
    if (conditions !== binding.status?.conditions)
      await bindings.updateStatus({ ...binding, status: { ...binding.status, conditions } }, { signal });
    return requeueAfter(waitFor(binding.metadata.deletionTimestamp));
  }

  async #empty(bound: BoundResource, binding: ApiBinding): Promise<Remains> {
    const { client, copies, signal } = this.#parts;
    // What is not stored here is not deleted here: it belongs to the provider.
    if ((bound.storageVersions ?? []).length === 0) return { count: 0, finalizers: new Map() };
    const cluster = binding.status?.apiExportClusterName ?? '';
    const schema = (await copies.copy(client, bound, signal)) ?? (await this.#schema(cluster, bound.schema.name));
    return schema === undefined ? { count: 0, finalizers: new Map() } : emptyKind(client, schema, signal);
  }
}

/** What has taken long will take long: the looks become rarer with the age of what is waited for. */
function waitFor(since: string | null | undefined): number {
  const age = Date.now() - Date.parse(since ?? new Date().toISOString());
  return Math.min(30_000, Math.max(200, age / 5));
}
