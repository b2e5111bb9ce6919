import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ApiBinding,
  type ApiConversion,
  type ApiExport,
  type ApiResourceSchema,
  apiBindingKind,
  apiConversionKind,
  apiExportKind,
  apiResourceSchemaKind,
  type BoundResource,
  bindingFinalizer,
  boundSchemasCluster,
  type CachedResource,
  type CachedResourceEndpointSlice,
  cachedResourceKind,
  cachedResourceSliceKind,
  exportLabel,
  withConditions,
} from '@capstan/api';
import { type Client, clusterOf, isForbidden, isNotFound, type ObjectKey, resourceForKind } from '@capstan/client';
import {
  type Controller,
  controller,
  done,
  hasFinalizer,
  ignoring,
  type Result,
  removeFinalizer,
  requeueAfter,
  waitByAge,
} from '@capstan/controller';
import { type KubeObject, sameJson } from '@capstan/machinery';
import { CachingCaches } from '../../caching/caches.ts';
import { publishesOtherwise, readinessOf } from '../../caching/readiness.ts';
import { keysOf, type SharingCaches } from '../caches.ts';
import { keepConversion } from '../schemas/conversions.ts';
import { copyName, SchemaCopies, uidOfCopy } from '../schemas/copies.ts';
import { unlessShut } from '../shut.ts';
import { emptyKind } from './content.ts';
import { deletionCondition, type Remains } from './deletion.ts';
import { Locks } from './locks.ts';
import { reconcileBinding } from './reconcile.ts';
import { takenKinds } from './taken.ts';

/** In milliseconds: how long a write may take to arrive in the local copy. */
const patience = 500;

/** Watches APIBindings, and everything that their status depends on. */
export function bindingController({
  concurrency = 16,
}: {
  readonly concurrency?: number | undefined;
} = {}): Controller<ApiBinding, CachingCaches> {
  const locks = new Locks();
  const schemas = new SchemaCopies();
  return controller('apibinding')
    .for<ApiBinding>(apiBindingKind)
    .reads(CachingCaches.of)
    .watches<ApiExport>(apiExportKind, (object, { sharing }) => keysOf(sharing.bindingsTo(object)))
    .watches<CachedResource>(cachedResourceKind, consumers, { predicate: publishesOtherwise })
    .watches<CachedResourceEndpointSlice>(cachedResourceSliceKind, consumers)
    .watches(
      apiResourceSchemaKind,
      (schema, { sharing }) => keysOf(bindingsWith(sharing, schema.metadata.name ?? '', clusterOf(schema) ?? '')),
      {
        metadataOnly: true,
      },
    )
    .watches<ApiConversion>(apiConversionKind, (rules, { sharing }) => {
      const cluster = clusterOf(rules) ?? '';
      return cluster === boundSchemasCluster ? [] : keysOf(bindingsWith(sharing, rules.metadata.name ?? '', cluster));
    })
    .reconcile(
      ({ key, object, client, signal, copies: caching }) =>
        object === undefined
          ? done
          : new Work({ key, client, signal, caches: caching.sharing, caching, locks, copies: schemas }).run(object),
      { concurrency, backoff: { base: 100, max: 30_000 } },
    );
}

const consumers = (object: KubeObject, caching: CachingCaches): ObjectKey[] => keysOf(caching.consumersOf(clusterOf(object) ?? ''));

/** The bindings that a schema matters to: those to exports that name it, or those that are served from this copy. */
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
    const { locks } = this.#parts;
    try {
      return await unlessShut(
        binding.metadata.deletionTimestamp === undefined ? locks.hold(this.#cluster, () => this.#bind(binding)) : this.#delete(binding),
      );
    } catch (error) {
      // The bindings of a workspace exist before it can be entered, and are deleted with it.
      if (isNotFound(error)) return requeueAfter(waitFor(binding.metadata.creationTimestamp));
      throw error;
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
      isServed: async (apiVersion, kind) => (await resourceForKind(client, apiVersion, kind)) !== undefined,
      keepSchema: (schema) => this.#keep(schema),
      readiness: (cluster, resource) => readinessOf(this.#parts.caching, cluster, resource),
      now: () => new Date(),
    });
    if (!sameJson(status, binding.status)) {
      const written = await client.resource<ApiBinding>(apiBindingKind).updateStatus({ ...binding, status }, { signal });
      await this.#seen(written);
      if (binding.status?.apiExportClusterName && status.apiExportClusterName !== binding.status.apiExportClusterName)
        await this.#relabel(written);
    }
    return isWaiting ? requeueAfter(waitFor(binding.metadata.creationTimestamp)) : done;
  }

  /** The export is in another workspace now: an update without the label makes the server set it again. */
  async #relabel(binding: ApiBinding): Promise<void> {
    const { client, signal } = this.#parts;
    const { [exportLabel]: _, ...labels } = binding.metadata.labels ?? {};
    await client.resource<ApiBinding>(apiBindingKind).update({ ...binding, metadata: { ...binding.metadata, labels } }, { signal });
  }

  /** Waits until the copy has the write: the next reconcile in this workspace reads it there. */
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
    // Another workspace at the same path may be somebody else's; the identity of the export shows whether it is.
    const another = (binding.status?.boundResources ?? []).length === 0 ? undefined : caches.exportAt(reference, this.#cluster);
    if (another !== undefined) return { cluster: clusterOf(another) ?? '', object: another };
    // A workspace can have other paths than the one that the export names.
    if (!reference.path || binding.status?.apiExportClusterName) return undefined;
    const object = await ignoring(
      client.cluster(reference.path).resource<ApiExport>(apiExportKind).get(reference.name, { signal }),
      isNotFound,
      isForbidden,
    );
    return object && { cluster: clusterOf(object) ?? '', object };
  }

  #schema(cluster: string, name: string): Promise<ApiResourceSchema | undefined> {
    const { caches, client, copies, signal } = this.#parts;
    return copies.original(client, { cluster, name, uid: caches.schemas.get({ cluster, name })?.metadata.uid, signal });
  }

  async #keep(schema: ApiResourceSchema): Promise<string | undefined> {
    const { caches, client, copies, signal } = this.#parts;
    const { group, names } = schema.spec!;
    const name = copyName(schema.metadata.uid ?? '', { group, resource: names.plural });
    const rules = caches.conversions.get({ cluster: clusterOf(schema) ?? '', name: schema.metadata.name ?? '' });
    const copy = caches.conversions.get({ cluster: boundSchemasCluster, name });
    // Before the schema, so that objects can be converted as soon as the kind is served.
    if (rules !== undefined) await keepConversion(client, { rules, copy, name }, signal);
    if (caches.schemas.get({ cluster: boundSchemasCluster, name }) !== undefined) return undefined;
    return copies.keep(client, schema, signal);
  }

  /** Deletes the objects of all bound kinds first, and reports what remains. */
  async #delete(binding: ApiBinding): Promise<Result> {
    const { client, signal } = this.#parts;
    const bindings = client.resource<ApiBinding>(apiBindingKind);
    if (!hasFinalizer(binding, bindingFinalizer)) return done;
    const remains = new Map<BoundResource, Remains>();
    for (const bound of binding.status?.boundResources ?? []) remains.set(bound, await this.#empty(bound, binding));
    const condition = deletionCondition(remains);
    if (condition.status === 'True') {
      await removeFinalizer(bindings, binding, bindingFinalizer);
      return done;
    }
    const conditions = withConditions(binding.status?.conditions, [condition], new Date());
    if (conditions !== binding.status?.conditions)
      await bindings.updateStatus({ ...binding, status: { ...binding.status, conditions } }, { signal });
    return requeueAfter(waitFor(binding.metadata.deletionTimestamp));
  }

  async #empty(bound: BoundResource, binding: ApiBinding): Promise<Remains> {
    const { client, copies, signal } = this.#parts;
    // Objects that are not stored here belong to the provider.
    if ((bound.storageVersions ?? []).length === 0) return { count: 0, finalizers: new Map() };
    const cluster = binding.status?.apiExportClusterName ?? '';
    const schema = (await copies.copy(client, bound, signal)) ?? (await this.#schema(cluster, bound.schema.name));
    return schema === undefined ? { count: 0, finalizers: new Map() } : emptyKind(client, schema, signal);
  }
}

/** In milliseconds: how long to wait before looking again at a binding that has been pending since then. */
function waitFor(since: string | null | undefined): number {
  return waitByAge(since, { now: new Date(), min: 200, max: 30_000 });
}
