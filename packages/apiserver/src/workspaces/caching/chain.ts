import {
  type ApiExport,
  type CachedResource,
  type CachedResourceEndpointSlice,
  type ClusterId,
  cacheGroup,
  type StoredKind,
  type VirtualStorage,
} from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { apiExports } from '../../bindings/names.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { Tree } from '../tree.ts';
import { cachedResourceSlices, cachedResources, publishedBy, sliceKind } from './names.ts';

/** A resource of an export. */
export interface Offer {
  /** The id of the export's workspace. */
  readonly provider: ClusterId;
  readonly exportName: string;
  /** The identity of the export when it was bound. An export recreated with another identity is a different one. */
  readonly identity: string;
  readonly group: string;
  readonly resource: string;
}

/** Equal for equal offers. */
export const keyOf = (offers: readonly Offer[]): string =>
  offers
    .map(({ provider, exportName, identity, group, resource }) => `${provider}/${exportName}/${identity}/${group}/${resource}`)
    .join(' ');

/** The source of an offer, or an error message. */
export type Followed = { readonly entry: CacheEntry<CachedResource> } | { readonly broken: string };

/**
 * Follows the references of virtual storage: export, endpoint slice, CachedResource. All are in the workspace of the export, so that nobody
 * can publish objects of another. Nothing is cached, so that objects are hidden as soon as a link is removed.
 */
export class Chain {
  readonly #cache: WatchCache;
  readonly #tree: Tree;

  constructor(cache: WatchCache, tree: Tree) {
    this.#cache = cache;
    this.#tree = tree;
  }

  follow(offer: Offer): Followed {
    const { provider, exportName } = offer;
    const offering = this.#get(apiExports, provider, exportName);
    if (offering === undefined) return { broken: `APIExport ${provider}|${exportName} not found` };
    if ((offering.object.status?.identityHash ?? '') !== offer.identity)
      return { broken: `APIExport ${provider}|${exportName} has a different identity than the one that was bound` };
    const storage = virtualStorageIn(offering.object, offer);
    if (storage === undefined) return { broken: `APIExport ${provider}|${exportName} no longer offers it with virtual storage` };
    const { apiGroup = '', kind, name } = storage.reference;
    if (apiGroup !== cacheGroup || kind !== sliceKind)
      return { broken: `virtual storage refers to ${kind}.${apiGroup}, expected ${sliceKind}.${cacheGroup}` };
    const slice = this.#get(cachedResourceSlices, provider, name);
    if (slice === undefined) return { broken: `${sliceKind} ${provider}|${name} not found` };
    return this.#published(slice.object, { offer, identity: storage.identityHash });
  }

  #published(slice: CachedResourceEndpointSlice, { offer, identity }: { offer: Offer; identity: string }): Followed {
    const { provider, group, resource } = offer;
    const { path = '', name = '' } = slice.spec?.cachedResource ?? {};
    const place = `${path || provider}|${name}`;
    if (path !== '' && this.#tree.resolve(path) !== provider)
      return { broken: `CachedResource ${place} is not in the workspace of the APIExport` };
    const entry = this.#get(cachedResources, provider, name);
    if (entry === undefined) return { broken: `CachedResource ${place} not found` };
    const { object } = entry;
    if (object.metadata.deletionTimestamp !== undefined) return { broken: `CachedResource ${place} is being deleted` };
    const kind = publishedBy(object);
    if (kind.group !== group || kind.resource !== resource)
      return { broken: `CachedResource ${place} publishes ${kind.resource}.${kind.group}` };
    if (identity === '' || object.status?.identityHash !== identity)
      return { broken: `the identity hash of CachedResource ${place} is not the one that the APIExport names` };
    return { entry };
  }

  #get<T extends KubeObject>(resource: StoredKind<T>, cluster: ClusterId, name: string): CacheEntry<T> | undefined {
    return this.#cache.resource(resource).entries.get(`${cluster}//${name}`);
  }
}

/** The virtual storage of a resource in an export; undefined if it has none. */
export function virtualStorageIn({ spec }: ApiExport, { group, resource }: Pick<Offer, 'group' | 'resource'>): VirtualStorage | undefined {
  return spec?.resources?.find((one) => one.group === group && one.name === resource)?.storage?.virtual;
}
