import { asClusterId, type ClusterId, everyCluster } from '@capstan/api';
import type { Attributes, Decision, Gate } from '../../authz/attributes.ts';
import { apiExports } from '../../bindings/names.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { Definition } from '../../crds/definition.ts';
import { WorkspaceKinds } from '../../crds/kinds.ts';
import type { Catalog } from '../../registry/catalog.ts';
import type { Scope } from '../../registry/scope.ts';
import { type Offer, virtualStorageIn } from '../caching/chain.ts';
import { cachedResources, publishedBy } from '../caching/names.ts';
import type { VirtualKinds } from '../caching/virtual-kinds.ts';
import { apiResourceSchemas, type BoundDefinitions } from '../kinds/bound-definitions.ts';
import type { WorkspaceView } from '../scopes.ts';
import type { Tree } from '../tree.ts';
import { denied, mayLook } from './apiexport.ts';

interface Options {
  readonly cache: WatchCache;
  readonly catalog: Catalog;
  readonly tree: Tree;
  readonly bound: BoundDefinitions;
  readonly virtual: VirtualKinds;
  /** Authorizes in the export's workspace. */
  readonly authorizer: Gate;
  readonly labelled: NonNullable<Scope['labelled']>;
}

const readOnlyVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const readOnly: Decision = { allowed: false, reason: 'write access to Replication virtual workspace is not allowed' };
/** As in kcp, where the object was already in the cache. */
const enters = 'MODIFIED';
const nobody: Gate = { authorize: () => denied };

/** The objects that a CachedResource publishes, as its consumers see them. It has one kind, read-only. */
export function replicationView(options: Options): WorkspaceView {
  const { tree, labelled } = options;
  const kinds = new PublishedKinds(options);
  return {
    scope({ of: [path = '', name = ''], cluster, info }): Scope {
      const provider = tree.resolve(path) ?? asClusterId('');
      const scope = { cluster, key: `replication/${provider}/${name}/${cluster}/`, labelled, enters } as const;
      // Discovery is the same in every workspace.
      const consumer = info.isResource && cluster !== everyCluster ? cluster : undefined;
      const [first, ...others] = kinds.offersOf(provider, name, consumer);
      if (first === undefined) return { ...scope, catalog: kinds.empty, authorizer: nobody };
      const offers = [first, ...others] as const;
      return { ...scope, catalog: kinds.catalog(offers), authorizer: { authorize: (attributes) => decide(options, offers, attributes) } };
    },
  };
}

/** Requires the right to use the view of each export that offers the objects there. */
function decide({ authorizer }: Options, offers: readonly Offer[], attributes: Attributes): Decision | Promise<Decision> {
  if (!readOnlyVerbs.has(attributes.verb)) return readOnly;
  const decisions = offers.map(({ provider, exportName }) => mayLook(authorizer, attributes, { cluster: provider, name: exportName }));
  const together = (all: readonly Decision[]): Decision => all.find(({ allowed }) => !allowed) ?? all[0]!;
  const known = decisions.filter((decision): decision is Decision => !(decision instanceof Promise));
  return known.length === decisions.length
    ? together(known)
    : Promise.all(decisions.map((decision) => Promise.resolve(decision))).then(together);
}

/** The kinds that CachedResources publish, each built on first use. */
class PublishedKinds {
  readonly #options: Options;
  readonly #made = new WeakMap<Definition, Catalog>();
  /** An empty catalog. */
  readonly empty: Catalog;

  constructor(options: Options) {
    this.#options = options;
    this.empty = options.catalog.only(() => false, new WorkspaceKinds());
  }

  /** The offers of a CachedResource: all of them, or those that one workspace has bound. Sorted by export name. */
  offersOf(provider: ClusterId, name: string, consumer: ClusterId | undefined): Offer[] {
    const { cache, virtual } = this.#options;
    const entry = cache.resource(cachedResources).entries.get(`${provider}//${name}`);
    if (entry === undefined) return [];
    const { group, resource } = publishedBy(entry.object);
    const found: Offer[] = [];
    cache.walk(apiExports, provider, ({ key, object }) => {
      if (virtualStorageIn(object, { group, resource }) === undefined) return true;
      const identity = object.status?.identityHash ?? '';
      const offer = { provider, exportName: key.slice(key.lastIndexOf('/') + 1), identity, group, resource };
      const followed = virtual.follow(offer);
      const isMeant = 'entry' in followed && followed.entry === entry;
      if (isMeant && (consumer === undefined || virtual.isConsumer(consumer, offer))) found.push(offer);
      return true;
    });
    return found;
  }

  /** The one kind, as the first export defines it. */
  catalog(offers: readonly [Offer, ...Offer[]]): Catalog {
    const definition = this.#definition(offers);
    if (definition === undefined) return this.empty;
    let catalog = this.#made.get(definition);
    if (catalog === undefined) {
      const kinds = new WorkspaceKinds();
      kinds.set(definition);
      this.#made.set(definition, (catalog = this.#options.catalog.only(() => false, kinds)));
    }
    return catalog;
  }

  #definition(offers: readonly [Offer, ...Offer[]]): Definition | undefined {
    const { cache, bound, virtual } = this.#options;
    const [{ provider, exportName, identity, group, resource }] = offers;
    const offering = cache.get({ ...apiExports, cluster: provider, namespace: '', name: exportName });
    const named = offering?.spec?.resources?.find((one) => one.group === group && one.name === resource);
    const schema = named && cache.get({ ...apiResourceSchemas, cluster: provider, namespace: '', name: named.schema });
    return schema === undefined || identity === '' ? undefined : virtual.readBy(bound.ofSchema(schema, identity), offers);
  }
}
