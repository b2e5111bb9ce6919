import {
  type ApiBinding,
  type ApiExport,
  type CachedResource,
  type CachedResourceEndpointSlice,
  cachedResourceKind,
  cachedResourceSliceKind,
  pathAnnotation,
} from '@capstan/api';
import { clusterOf, type Informer, type InformerFactory } from '@capstan/client';
import { exportKey, SharingCaches } from '../apis/caches.ts';

const known = new WeakMap<InformerFactory, CachingCaches>();

/** Local copies of CachedResources and their slices in all workspaces, with indexes. */
export class CachingCaches {
  readonly resources: Informer<CachedResource>;
  readonly slices: Informer<CachedResourceEndpointSlice>;
  readonly sharing: SharingCaches;

  constructor(informers: InformerFactory) {
    this.sharing = SharingCaches.of(informers);
    this.resources = informers.informer<CachedResource>(cachedResourceKind);
    this.slices = informers.informer<CachedResourceEndpointSlice>(cachedResourceSliceKind);
    this.resources.addIndex('name', namesOf);
    this.resources.addIndex('cluster', (resource) => [clusterOf(resource) ?? '']);
    this.slices.addIndex('of', (slice) => {
      const { path, name = '' } = slice.spec?.cachedResource ?? {};
      return [exportKey(path || (clusterOf(slice) ?? ''), name)];
    });
    this.sharing.exports.addIndex('cluster', (object) => [clusterOf(object) ?? '']);
  }

  /** The same instance for all controllers that share informers. */
  static of(this: void, informers: InformerFactory): CachingCaches {
    let caches = known.get(informers);
    if (caches === undefined) known.set(informers, (caches = new CachingCaches(informers)));
    return caches;
  }

  in(cluster: string): CachedResource[] {
    return this.resources.byIndex('cluster', cluster);
  }

  /** The CachedResource that a slice refers to. */
  resourceOf(slice: CachedResourceEndpointSlice): CachedResource | undefined {
    const { path, name } = slice.spec?.cachedResource ?? {};
    return name === undefined ? undefined : this.resources.byIndex('name', exportKey(path || (clusterOf(slice) ?? ''), name))[0];
  }

  slicesOf(resource: CachedResource): CachedResourceEndpointSlice[] {
    return [...new Set(namesOf(resource).flatMap((name) => this.slices.byIndex('of', name)))];
  }

  /** The slices of everything that a workspace publishes. */
  slicesFrom(cluster: string): CachedResourceEndpointSlice[] {
    return this.in(cluster).flatMap((resource) => this.slicesOf(resource));
  }

  /** The bindings to exports of a workspace that offer virtual storage. */
  consumersOf(cluster: string): ApiBinding[] {
    const offering = this.sharing.exports.byIndex('cluster', cluster).filter(isVirtual);
    return offering.flatMap((object) => this.sharing.bindingsTo(object));
  }

  /** Whether somebody is bound to an export that offers the published resource. */
  isBound({ metadata, spec, status }: CachedResource): boolean {
    const offers = this.sharing.exports
      .byIndex('cluster', clusterOf({ metadata } as CachedResource) ?? '')
      .filter((object) =>
        (object.spec?.resources ?? []).some(
          ({ group, name, storage }) =>
            storage?.virtual !== undefined &&
            name === spec?.resource &&
            group === (spec.group ?? '') &&
            storage.virtual.identityHash === status?.identityHash,
        ),
      );
    return offers.some((object) => this.sharing.isBound(object));
  }
}

const isVirtual = ({ spec }: ApiExport): boolean => (spec?.resources ?? []).some(({ storage }) => storage?.virtual !== undefined);

/** The keys of a CachedResource: with the id of its workspace, and with its path. */
function namesOf(resource: CachedResource): string[] {
  const name = resource.metadata.name ?? '';
  const cluster = clusterOf(resource) ?? '';
  const path = resource.metadata.annotations?.[pathAnnotation] ?? cluster;
  return [...new Set([exportKey(cluster, name), exportKey(path, name)])];
}
