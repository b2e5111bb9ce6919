import { endOf, type WatchCache } from '../../cache/watch-cache.ts';
import type { Definition } from '../../crds/definition.ts';
import { fieldsOf, itemsOf, textOf } from '../../kinds/workloads/reading.ts';
import type { CustomKinds, Group } from '../../registry/catalog.ts';
import type { Resource } from '../../registry/resource.ts';
import { factsOf } from '../apis/bindings.ts';
import { apiExports } from '../apis/names.ts';
import { clusterOfKey } from '../names.ts';
import { apiResourceSchemas, type BoundDefinitions } from './bound-definitions.ts';
import { apiBindings } from './bound-kinds.ts';
import type { PlatformKinds } from './platform-kinds.ts';

interface Options {
  readonly cache: WatchCache;
  readonly platform: PlatformKinds;
  readonly bound: BoundDefinitions;
}

/**
 * The kinds that can be asked for in all workspaces at once: those of the platform, and those of exports, whose resources are named with the identity that they
 * are stored under (`cowboys:<hash>`), since the same name may mean something else in every workspace.
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
    if (colon < 0) return this.#options.platform.all.resource(group, version, resource);
    const wanted = { group, resource: resource.slice(0, colon), identity: resource.slice(colon + 1) };
    return (this.#exported(wanted) ?? this.#bound(wanted))?.resource(version);
  }

  /** As whoever has the identity offers it now. */
  #exported({ group, resource, identity }: Wanted): Definition | undefined {
    const { cache, bound } = this.#options;
    let found: Definition | undefined;
    cache.resource(apiExports).entries.walk('', endOf(''), (entry) => {
      const { spec, status } = entry.object;
      if (fieldsOf(status)['identityHash'] !== identity) return true;
      const offered = itemsOf(fieldsOf(spec)['resources']).find((one) => one['group'] === group && one['name'] === resource);
      const at = { ...apiResourceSchemas, cluster: clusterOfKey(entry.key), namespace: '', name: textOf(offered?.['schema']) };
      const schema = offered && cache.get(at);
      if (schema !== undefined) found = bound.ofSchema(schema, identity);
      return found === undefined;
    });
    return found;
  }

  /** As somebody has it still, though it is not offered any more. */
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

interface Wanted {
  readonly group: string;
  readonly resource: string;
  readonly identity: string;
}
