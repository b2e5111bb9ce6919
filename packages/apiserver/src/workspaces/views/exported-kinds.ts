import type { ApiExport, ClusterId } from '@capstan/api';
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

/** A permission claim of an export. */
export interface ExportClaim {
  readonly group: string;
  readonly resource: string;
  readonly identity: string;
  readonly verbs: readonly string[];
}

/** The kinds that the provider of an export can see in bound workspaces. */
export interface ExportedKinds {
  readonly cluster: ClusterId;
  readonly name: string;
  /** The identity under which objects of its own kinds are stored; empty until the export has one. */
  readonly identity: string;
  readonly catalog: Catalog;
  /** As `group/resource`. */
  readonly own: ReadonlySet<string>;
  /** Claimed kinds by `group/resource`, without its own. */
  readonly claims: ReadonlyMap<string, ExportClaim>;
}

interface Options {
  readonly cache: WatchCache;
  readonly catalog: Catalog;
  readonly platform: PlatformKinds;
  readonly bound: BoundDefinitions;
  readonly virtual: VirtualKinds;
}

/** Derived from the latest version of an export, and rebuilt when anything that it refers to changes. */
interface Made {
  readonly kinds: ExportedKinds;
  readonly exports: number;
  readonly schemas: number;
  readonly definitions: number;
  /** Whether it depends on other exports, or on schemas that do not exist yet. */
  readonly isOpen: boolean;
}

/** The kinds of exports, each built on first use. */
export class ExportedKindsOf {
  readonly #options: Options;
  readonly #made = new WeakMap<CacheEntry, Made>();
  #empty: Catalog | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  /** An empty catalog. */
  get empty(): Catalog {
    return (this.#empty ??= this.#options.catalog.only(() => false, new WorkspaceKinds()));
  }

  /** Undefined if there is no such export. */
  find(cluster: ClusterId, name: string): ExportedKinds | undefined {
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

  /** All exports with this identity. */
  withIdentity(identity: string): { cluster: ClusterId; object: ApiExport }[] {
    const found: { cluster: ClusterId; object: ApiExport }[] = [];
    this.#options.cache.resource(apiExports).entries.walk('', endOf(''), (entry) => {
      if (identityOf(entry.object) === identity) found.push({ cluster: clusterOfKey(entry.key), object: entry.object });
      return true;
    });
    return found;
  }

  #make(object: ApiExport, { cluster, name }: { cluster: ClusterId; name: string }): Pick<Made, 'kinds' | 'isOpen'> {
    const identity = identityOf(object);
    const custom = new WorkspaceKinds();
    const own = new Set<string>();
    let isOpen = false;
    for (const { schema } of object.spec?.resources ?? []) {
      const definition = this.#offered(object, cluster, schema);
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

  /** A kind that an export of `cluster` offers, with its schema and storage. */
  #offered(object: ApiExport, cluster: ClusterId, schemaName: string): Definition | undefined {
    const { cache, bound, virtual } = this.#options;
    const identity = identityOf(object);
    const schema = cache.get({ ...apiResourceSchemas, cluster, namespace: '', name: schemaName });
    if (schema === undefined || identity === '') return undefined;
    const definition = bound.ofSchema(schema, identity);
    const { group, plural: resource } = definition;
    if (virtualStorageIn(object, { group, resource }) === undefined) return definition;
    return virtual.readBy(definition, [{ provider: cluster, exportName: object.metadata.name!, identity, group, resource }]);
  }

  /** A kind of the platform, or of another export with the claimed identity. Built-in kinds have no definition. */
  #claimedKind({ group, resource, identity }: ExportClaim): Definition | undefined {
    const { catalog, platform } = this.#options;
    if (identity === '') return isBuiltinKind(catalog, group, resource) ? undefined : platform.system.get(group, resource);
    for (const { cluster, object } of this.withIdentity(identity)) {
      const offered = object.spec?.resources?.find((one) => one.group === group && one.name === resource);
      const definition = offered && this.#offered(object, cluster, offered.schema);
      if (definition !== undefined) return definition;
    }
    return undefined;
  }
}

const identityOf = ({ status }: ApiExport): string => status?.identityHash ?? '';

function claimsOf({ spec }: ApiExport): ExportClaim[] {
  return (spec?.permissionClaims ?? []).map(({ group = '', resource, identityHash = '', verbs }) => ({
    group,
    resource,
    identity: identityHash,
    verbs,
  }));
}
