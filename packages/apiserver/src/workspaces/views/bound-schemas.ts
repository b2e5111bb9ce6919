import type { ClusterId } from '@capstan/api';
import { everyCluster, rootCluster } from '@capstan/api';
import type { Attributes, Decision, Gate } from '../../authz/attributes.ts';
import type { BindingFacts, Bindings } from '../../bindings/bindings.ts';
import { apiBindings } from '../../bindings/bound-resources.ts';
import { apiExports, exportLabelValue } from '../../bindings/names.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import { clusterOfKey } from '../../cache/key.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { Catalog } from '../../registry/catalog.ts';
import type { Catalogs } from '../../registry/catalogs.ts';
import { apiResourceSchemas } from '../kinds/bound-definitions.ts';
import { unreachable, type WorkspaceView } from '../scopes.ts';
import type { Tree } from '../tree.ts';
import { singleKind } from './single-kind.ts';

interface Options {
  readonly cache: WatchCache;
  readonly catalogs: Catalogs;
  readonly tree: Tree;
  readonly bindings: Bindings;
  /** Authorizes in the workspace with the bindings. */
  readonly authorizer: Gate;
}

/** Prefix of the keys of all scopes of this view, or of those of one workspace. */
export const boundSchemasKey = (cluster?: ClusterId): string => `apiresourceschema/${cluster === undefined ? '' : `${cluster}/`}`;

const readOnlyVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const readOnly: Decision = { allowed: false, reason: 'only read-only access is allowed to apiresourceschemas' };

/**
 * The schemas of all kinds that a workspace has bound, from the workspaces of their providers. Users who can read the bindings already know
 * which kinds are bound, so they may read the schemas too.
 */
export function boundSchemasView(options: Options): WorkspaceView {
  const { catalogs, tree } = options;
  let catalog: Catalog | undefined;
  const kind = () => catalogs.of(rootCluster).resource(apiResourceSchemas.group, 'v1alpha1', apiResourceSchemas.resource)!;
  return {
    scope({ of: [path = ''], info, user }) {
      const consumer = tree.resolve(path);
      if (consumer === undefined) throw unreachable(path, info, user);
      const schemas = new BoundSchemas(options, consumer);
      return {
        cluster: info.isResource && info.verb === 'get' ? schemas.clusterOf(info.name) : everyCluster,
        catalog: (catalog ??= singleKind(kind(), [])),
        key: boundSchemasKey(consumer),
        shows: (_, entry) => schemas.has(entry),
        authorizer: { authorize: (attributes) => mayRead(options.authorizer, attributes, consumer) },
      };
    },
  };
}

/** Requires the right to read the bindings of the workspace. */
function mayRead(authorizer: Gate, { verb, user }: Attributes, cluster: ClusterId): Decision | Promise<Decision> {
  if (!readOnlyVerbs.has(verb)) return readOnly;
  const asked = { ...apiBindings, version: 'v1alpha2', subresource: '', namespace: '', name: '', path: '', isResource: true };
  return authorizer.authorize({ ...asked, cluster, user, verb: 'get' });
}

/** The schemas that a workspace has bound. Computed again after bindings or exports change. */
class BoundSchemas {
  readonly #options: Options;
  readonly #consumer: ClusterId;
  #read: { readonly bindings: number; readonly exports: number; readonly keys: ReadonlySet<string> } | undefined;

  constructor(options: Options, consumer: ClusterId) {
    this.#options = options;
    this.#consumer = consumer;
  }

  has({ key }: CacheEntry): boolean {
    return this.#keys().has(key);
  }

  /** The workspace of the schema with this name; the consumer if it is not bound. */
  clusterOf(name: string): ClusterId {
    for (const key of this.#keys()) if (key.endsWith(`//${name}`)) return clusterOfKey(key);
    return this.#consumer;
  }

  #keys(): ReadonlySet<string> {
    const { cache, bindings } = this.#options;
    const exports = cache.generation(apiExports);
    if (this.#read?.bindings !== bindings.generation || this.#read.exports !== exports) {
      const keys = new Set(bindings.in(this.#consumer).flatMap((binding) => this.#offered(binding)));
      this.#read = { bindings: bindings.generation, exports, keys };
    }
    return this.#read.keys;
  }

  #offered({ provider, exportName, label, bound }: BindingFacts): string[] {
    // The owner of the workspace can write the status but not the label, and setting the label required permission to bind that export.
    if (bound.length === 0 || label !== exportLabelValue(provider, exportName)) return [];
    const offering = this.#options.cache.get({ ...apiExports, cluster: provider, namespace: '', name: exportName });
    return (offering?.spec?.resources ?? []).map(({ schema }) => `${provider}//${schema}`);
  }
}
