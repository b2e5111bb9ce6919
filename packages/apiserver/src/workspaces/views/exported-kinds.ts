import type { KubeObject } from '@capstan/machinery';
import { fieldsOf, itemsOf, textOf, textsOf } from '@capstan/machinery';
import { apiBindings } from '../../bindings/bound-resources.ts';
import { apiExports } from '../../bindings/names.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import { clusterOfKey } from '../../cache/key.ts';
import { endOf, type WatchCache } from '../../cache/watch-cache.ts';
import type { Definition } from '../../crds/definition.ts';
import { WorkspaceKinds } from '../../crds/kinds.ts';
import { type Catalog, isBuiltinKind } from '../../registry/catalog.ts';
import { virtualStorageIn } from '../caching/chain.ts';
import type { VirtualKinds } from '../caching/virtual-kinds.ts';
import { apiResourceSchemas, type BoundDefinitions } from '../kinds/bound-definitions.ts';
import type { PlatformKinds } from '../kinds/platform-kinds.ts';

/** What an export asks of those who bind it. */
export interface ExportClaim {
  readonly group: string;
  readonly resource: string;
  readonly identity: string;
  readonly verbs: readonly string[];
}

/** The kinds that the provider of an export can look at, wherever it is bound. */
export interface ExportedKinds {
  readonly cluster: string;
  readonly name: string;
  /** Under which the objects of its own kinds lie; empty until the export has an identity. */
  readonly identity: string;
  readonly catalog: Catalog;
  /** As `group/resource`. */
  readonly own: ReadonlySet<string>;
  /** By `group/resource`: those that are claimed and not its own. */
  readonly claims: ReadonlyMap<string, ExportClaim>;
}

interface Options {
  readonly cache: WatchCache;
  readonly catalog: Catalog;
  readonly platform: PlatformKinds;
  readonly bound: BoundDefinitions;
  readonly virtual: VirtualKinds;
}

/** Made of an export as it was written last; made again when what it refers to has changed. */
interface Made {
  readonly kinds: ExportedKinds;
  readonly exports: number;
  readonly schemas: number;
  readonly definitions: number;
  /** Whether it hangs on other exports, or on schemas that are not there yet. */
  readonly isOpen: boolean;
}

/** The kinds of exports, each put together when somebody first looks. */
export class ExportedKindsOf {
  readonly #options: Options;
  readonly #made = new WeakMap<CacheEntry, Made>();
  #empty: Catalog | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Has nothing in it. */
  get empty(): Catalog {
    return (this.#empty ??= this.#options.catalog.only(() => false, new WorkspaceKinds()));
  }

  /** Undefined when there is no such export. */
  find(cluster: string, name: string): ExportedKinds | undefined {
    const { cache } = this.#options;
    const entry = cache.resource(apiExports).entries.get(`${cluster}//${name}`);
    if (entry === undefined) return undefined;
    const known = this.#made.get(entry);
    const exports = cache.generation(apiExports);
    const schemas = cache.generation(apiResourceSchemas);
    const definitions = this.#options.bound.generation;
    const isCurrent = known?.definitions === definitions && (!known.isOpen || (known.exports === exports && known.schemas === schemas));
    if (known !== undefined && isCurrent) return known.kinds;
    const made = { ...this.#make(entry.object, { cluster, name }), exports, schemas, definitions };
    this.#made.set(entry, made);
    return made.kinds;
  }

  /** Every export that has this identity. */
  withIdentity(identity: string): { cluster: string; object: KubeObject }[] {
    const found: { cluster: string; object: KubeObject }[] = [];
    this.#options.cache.resource(apiExports).entries.walk('', endOf(''), (entry) => {
      if (identityOf(entry.object) === identity) found.push({ cluster: clusterOfKey(entry.key), object: entry.object });
      return true;
    });
    return found;
  }

  #make(object: KubeObject, { cluster, name }: { cluster: string; name: string }): Pick<Made, 'kinds' | 'isOpen'> {
    const identity = identityOf(object);
    const custom = new WorkspaceKinds();
    const own = new Set<string>();
    let isOpen = false;
    for (const resource of itemsOf(fieldsOf(object['spec'])['resources'])) {
      const definition = this.#offered(object, cluster, textOf(resource['schema']));
      if (definition === undefined) {
        isOpen = true;
        continue;
      }
      custom.set(definition);
      own.add(`${definition.group}/${definition.plural}`);
    }
    const claims = new Map<string, ExportClaim>();
    for (const claim of claimsOf(object)) {
      const key = `${claim.group}/${claim.resource}`;
      if (own.has(key) || claims.has(key)) continue;
      claims.set(key, claim);
      if (claim.identity !== '') isOpen = true;
      const definition = this.#claimedKind(claim);
      if (definition !== undefined) custom.set(definition);
    }
    custom.set(this.#options.platform.system.get(apiBindings.group, apiBindings.resource)!);
    const isClaimed = (group: string, resource: string): boolean => claims.get(`${group}/${resource}`)?.identity === '';
    return { kinds: { cluster, name, identity, own, claims, catalog: this.#options.catalog.only(isClaimed, custom) }, isOpen };
  }

  /** A kind as an export of `cluster` offers it: by its schema, and from where its objects are. */
  #offered(object: KubeObject, cluster: string, schemaName: string): Definition | undefined {
    const { cache, bound, virtual } = this.#options;
    const identity = identityOf(object);
    const schema = cache.get({ ...apiResourceSchemas, cluster, namespace: '', name: schemaName });
    if (schema === undefined || identity === '') return undefined;
    const definition = bound.ofSchema(schema, identity);
    const { group, plural: resource } = definition;
    if (virtualStorageIn(object, { group, resource }) === undefined) return definition;
    return virtual.readBy(definition, [{ provider: cluster, exportName: object.metadata.name!, identity, group, resource }]);
  }

  /** A kind of the platform, or one that another export offers under the identity that is claimed. Built-in kinds have no definition. */
  #claimedKind({ group, resource, identity }: ExportClaim): Definition | undefined {
    const { catalog, platform } = this.#options;
    if (identity === '') return isBuiltinKind(catalog, group, resource) ? undefined : platform.system.get(group, resource);
    for (const { cluster, object } of this.withIdentity(identity)) {
      const offered = itemsOf(fieldsOf(object['spec'])['resources']).find((one) => one['group'] === group && one['name'] === resource);
      const definition = offered && this.#offered(object, cluster, textOf(offered['schema']));
      if (definition !== undefined) return definition;
    }
    return undefined;
  }
}

function identityOf(object: KubeObject): string {
  return textOf(fieldsOf(object['status'])['identityHash']);
}

function claimsOf(object: KubeObject): ExportClaim[] {
  return itemsOf(fieldsOf(object['spec'])['permissionClaims']).map((claim) => ({
    group: textOf(claim['group']),
    resource: textOf(claim['resource']),
    identity: textOf(claim['identityHash']),
    verbs: textsOf(claim['verbs']),
  }));
}
