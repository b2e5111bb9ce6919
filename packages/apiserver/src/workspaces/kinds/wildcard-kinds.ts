import { defaultPrinter } from '@capstan/kinds';
import { builtinTypes, type KubeObject } from '@capstan/machinery';
import { factsOf } from '../../bindings/bindings.ts';
import { apiBindings } from '../../bindings/bound-resources.ts';
import { apiExports } from '../../bindings/names.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import { clusterOfKey } from '../../cache/key.ts';
import { endOf, type ResourceCache, type WatchCache } from '../../cache/watch-cache.ts';
import type { Definition } from '../../crds/definition.ts';
import { definitionResource } from '../../crds/definitions.ts';
import { apiVersionOf, type CustomKinds, type Group } from '../../registry/catalog.ts';
import type { Resource } from '../../registry/resource.ts';
import { apiResourceSchemas, type BoundDefinitions } from './bound-definitions.ts';
import type { PlatformKinds } from './platform-kinds.ts';

interface Options {
  readonly cache: WatchCache;
  readonly platform: PlatformKinds;
  readonly bound: BoundDefinitions;
}

/**
 * The kinds that can be requested across all workspaces: the platform's, and those of exports. Resources of exports are named with the
 * identity under which they are stored (`cowboys:<hash>`), since the plain name may mean something else in each workspace.
 */
export class WildcardKinds implements CustomKinds {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  get generation(): number {
    return this.#options.platform.all.generation;
  }

  hasGroup(group: string): boolean {
    return this.#options.platform.all.hasGroup(group);
  }

  groups(): Iterable<Group> {
    return this.#options.platform.all.groups();
  }

  resource(group: string, version: string, resource: string): Resource | undefined {
    const colon = resource.indexOf(':');
    if (colon < 0) return this.#options.platform.all.resource(group, version, resource) ?? this.#namesakes(group, version, resource);
    const wanted = { group, resource: resource.slice(0, colon), identity: resource.slice(colon + 1) };
    return (this.#exported(wanted) ?? this.#bound(wanted))?.resource(version);
  }

  /** The resource of this name in any workspace. It may be a different kind in each, so only metadata is served. */
  #namesakes(group: string, version: string, resource: string): Resource | undefined {
    return this.#isSomewhere(group, resource) ? metadataOf({ group, version, resource }) : undefined;
  }

  #isSomewhere(group: string, resource: string): boolean {
    const { cache } = this.#options;
    const isFound = <T extends KubeObject>(held: ResourceCache<T>, matches: (entry: CacheEntry<T>) => boolean): boolean => {
      let found = false;
      held.entries.walk('', endOf(''), (entry) => !(found = matches(entry)));
      return found;
    };
    const name = `//${resource}.${group}`;
    if (isFound(cache.resource(definitionResource), ({ key }) => key.endsWith(name))) return true;
    return isFound(cache.resource(apiBindings), (entry) =>
      factsOf(entry).bound.some((one) => one.group === group && one.resource === resource),
    );
  }

  /** The definition that the export with this identity offers now. */
  #exported({ group, resource, identity }: Wanted): Definition | undefined {
    const { cache, bound } = this.#options;
    let found: Definition | undefined;
    cache.resource(apiExports).entries.walk('', endOf(''), (entry) => {
      const { spec, status } = entry.object;
      if (status?.identityHash !== identity) return true;
      const offered = spec?.resources?.find((one) => one.group === group && one.name === resource);
      const cluster = clusterOfKey(entry.key);
      const schema = offered && cache.get({ ...apiResourceSchemas, cluster, namespace: '', name: offered.schema });
      if (schema !== undefined) found = bound.ofSchema(schema, identity);
      return found === undefined;
    });
    return found;
  }

  /** The definition that a workspace still has bound although it is no longer offered. */
  #bound({ group, resource, identity }: Wanted): Definition | undefined {
    const { cache, bound } = this.#options;
    let found: Definition | undefined;
    cache.resource(apiBindings).entries.walk('', endOf(''), (entry) => {
      const one = factsOf(entry).bound.find((each) => each.group === group && each.resource === resource && each.identity === identity);
      if (one !== undefined) found = bound.of(one);
      return found === undefined;
    });
    return found;
  }
}

/** A kind of which only the name is known. */
function metadataOf({ group, version, resource }: { group: string; version: string; resource: string }): Resource {
  return {
    group,
    version,
    resource,
    groupVersion: apiVersionOf(group, version),
    kind: 'PartialObjectMetadata',
    listKind: 'PartialObjectMetadataList',
    singular: '',
    namespaced: true,
    verbs: new Set(['list', 'watch']),
    shortNames: [],
    categories: [],
    storageVersionHash: '',
    type: builtinTypes().object('io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata'),
    strategy: {},
    printer: defaultPrinter,
    storage: { group, resource: `${resource}*`, apiVersion: '', kind: '' },
    subresources: new Map(),
    virtual: false,
    metadataOnly: true,
  };
}

interface Wanted {
  readonly group: string;
  readonly resource: string;
  readonly identity: string;
}
