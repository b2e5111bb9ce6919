import {
  type ApiBinding,
  type BoundResource,
  boundSchemasCluster,
  type CachedResource,
  type ClusterId,
  type ExportedResource,
  type KcpCondition,
  type PermissionClaim,
  type ScopedClaim,
  type VirtualStorage,
} from '@capstan/api';
import { BoundedMap } from '@capstan/machinery';
import { apiExports } from '../../bindings/names.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import { Chain } from '../caching/chain.ts';
import { cachedResourceSlices, cachedResources } from '../caching/names.ts';
import { apiConversions, apiResourceSchemas } from '../kinds/bound-definitions.ts';
import type { Tree } from '../tree.ts';

/** How many exports are remembered. */
const capacity = 1_000;

/** Everything that decides whether an export is ready. */
const sources = [apiExports, apiResourceSchemas, apiConversions, cachedResources, cachedResourceSlices];

/** An export to which a new workspace can be bound without anybody's work. */
export interface ReadyExport {
  readonly identityHash: string;
  readonly boundResources: readonly BoundResource[];
  readonly groups: readonly string[];
  readonly claims: readonly PermissionClaim[];
}

/**
 * Tells to which exports a new workspace can be bound at once: those that are valid, and whose schemas others have bound before, so that their copies
 * exist. Everything else is left to the binding controller, which also reports problems.
 */
export class ReadyExports {
  readonly #cache: WatchCache;
  readonly #chain: Chain;
  readonly #isBuiltin: (group: string) => boolean;
  readonly #known = new BoundedMap<string, ReadyExport | undefined>(capacity);
  #generation = -1;

  constructor({ cache, tree, isBuiltin }: { cache: WatchCache; tree: Tree; isBuiltin: (group: string) => boolean }) {
    this.#cache = cache;
    this.#chain = new Chain(cache, tree);
    this.#isBuiltin = isBuiltin;
  }

  /** Undefined if the export is not ready. */
  find(provider: ClusterId, name: string): ReadyExport | undefined {
    let generation = 0;
    for (const source of sources) generation += this.#cache.generation(source);
    if (generation !== this.#generation) {
      this.#generation = generation;
      this.#known.clear();
    }
    const key = `${provider}/${name}`;
    if (this.#known.has(key)) return this.#known.get(key);
    const found = this.#look(provider, name);
    this.#known.set(key, found);
    return found;
  }

  #look(provider: ClusterId, name: string): ReadyExport | undefined {
    const exported = this.#cache.get({ ...apiExports, cluster: provider, namespace: '', name });
    const { identityHash = '', conditions } = exported?.status ?? {};
    if (exported === undefined || identityHash === '' || !areTrue(conditions, 'IdentityValid')) return undefined;
    const boundResources: BoundResource[] = [];
    for (const resource of exported.spec?.resources ?? []) {
      const bound = this.#boundResource(resource, { provider, name, identityHash });
      if (bound === undefined) return undefined;
      boundResources.push(bound);
    }
    const groups = boundResources.map(({ group }) => group);
    return { identityHash, boundResources, groups, claims: exported.spec?.permissionClaims ?? [] };
  }

  #boundResource(resource: ExportedResource, of: { provider: ClusterId; name: string; identityHash: string }): BoundResource | undefined {
    const { provider, identityHash } = of;
    const schema = this.#cache.get({ ...apiResourceSchemas, cluster: provider, namespace: '', name: resource.schema });
    if (schema?.spec === undefined) return undefined;
    const { group, names, versions, conversion } = schema.spec;
    if (this.#isBuiltin(group) || (versions.length > 1 && conversion === undefined)) return undefined;
    const { name = '', uid = '' } = schema.metadata;
    // Conversions have to be copied as well, which is somebody else's work.
    if (this.#cache.get({ ...apiConversions, cluster: provider, namespace: '', name }) !== undefined) return undefined;
    const copy = `${uid}.${names.plural}.${group}`;
    if (this.#cache.get({ ...apiResourceSchemas, cluster: boundSchemasCluster, namespace: '', name: copy }) === undefined) return undefined;
    const bound: BoundResource = { group, resource: names.plural, schema: { name, UID: uid, identityHash } };
    const virtual = resource.storage?.virtual;
    if (virtual !== undefined) return this.#isReadable(virtual, { ...of, group, resource: names.plural }) ? bound : undefined;
    return { ...bound, storageVersions: versions.filter(({ storage }) => storage).map((version) => version.name) };
  }

  /** Whether the objects of a resource with virtual storage can be read. */
  #isReadable(
    virtual: VirtualStorage,
    of: { provider: ClusterId; name: string; identityHash: string; group: string; resource: string },
  ): boolean {
    const { provider, name: exportName, identityHash: identity, group, resource } = of;
    const followed = this.#chain.follow({ provider, exportName, identity, group, resource });
    if ('broken' in followed) return false;
    const { status } = followed.entry.object as CachedResource;
    const slice = this.#cache.get({ ...cachedResourceSlices, cluster: provider, namespace: '', name: virtual.reference.name });
    return areTrue(status?.conditions, 'ReplicationStarted') && (slice?.status?.endpoints ?? []).length > 0;
  }
}

/** Whether all conditions hold, this one among them. */
function areTrue(conditions: readonly KcpCondition[] = [], type: string): boolean {
  return conditions.every(({ status }) => status === 'True') && conditions.some((one) => one.type === type);
}

/** The claims that a binding applies, as its status lists them. */
export function appliedClaims(binding: ApiBinding): ScopedClaim[] {
  const keyOf = ({ group = '', resource, identityHash = '' }: ScopedClaim): string => `${resource}/${group}/${identityHash}`;
  return (binding.spec?.permissionClaims ?? [])
    .map(({ state: _state, ...claim }) => claim)
    .filter(({ verbs }) => verbs.length > 0)
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
