import { type CachedResource, type ClusterId, everyCluster } from '@capstan/api';
import { everything, type LabelSelector, selectorOfObject, status } from '@capstan/machinery';
import type { BoundResource } from '../../bindings/bound-resources.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import { clusterOfKey } from '../../cache/key.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { Definition } from '../../crds/definition.ts';
import type { Origin, Resource } from '../../registry/resource.ts';
import type { Tree } from '../tree.ts';
import { Chain, type Followed, keyOf, type Offer } from './chain.ts';
import { consumerName, consumersName, PublishedChanges, publishedName } from './changes.ts';
import { Consumers } from './consumers.ts';
import type { PublishedKind } from './names.ts';

interface Options {
  readonly cache: WatchCache;
  readonly tree: Tree;
  /** The kind in a workspace; undefined if the workspace lacks it. */
  readonly kindIn: (cluster: ClusterId, kind: PublishedKind) => Resource | undefined;
  /** True for kinds of Kubernetes and the platform. */
  readonly isOwn: (group: string, resource: string) => boolean;
}

const readVerbs = ['get', 'list', 'watch'];

/** Kinds whose objects are stored by their provider and read from there. */
export class VirtualKinds {
  readonly #chain: Chain;
  readonly #consumers: Consumers;
  readonly #selectors = new WeakMap<CacheEntry<CachedResource>, LabelSelector>();
  readonly #made = new WeakMap<Definition, Map<string, Definition>>();
  /** When other objects were published. */
  readonly changes: PublishedChanges;
  readonly kindIn: Options['kindIn'];
  readonly isOwn: Options['isOwn'];

  constructor(options: Options) {
    this.kindIn = options.kindIn;
    this.isOwn = options.isOwn;
    this.#chain = new Chain(options.cache, options.tree);
    this.#consumers = new Consumers(options.cache);
    this.changes = new PublishedChanges(options.cache);
  }

  /** Resolves the source of an offer. */
  follow(offer: Offer): Followed {
    return this.#chain.follow(offer);
  }

  /** The bound kind: unchanged unless it is virtual. */
  ofBound(definition: Definition | undefined, { offeredBy, identity, group, resource }: BoundResource): Definition | undefined {
    if (definition === undefined || offeredBy === undefined) return definition;
    return this.readBy(definition, [{ ...offeredBy, identity, group, resource }]);
  }

  /** The kind as read by workspaces that have bound one of the offers, which all have the same source. */
  readBy(definition: Definition, offers: readonly [Offer, ...Offer[]]): Definition {
    let made = this.#made.get(definition);
    if (made === undefined) this.#made.set(definition, (made = new Map()));
    const key = keyOf(offers);
    let read = made.get(key);
    if (read === undefined) made.set(key, (read = definition.changed((resource) => this.#readFrom(readOnly(resource), offers))));
    return read;
  }

  #readFrom(resource: Resource, offers: readonly [Offer, ...Offer[]]): Resource {
    return { ...resource, source: (cluster) => this.#read(resource, offers, cluster) };
  }

  #read(resource: Resource, offers: readonly [Offer, ...Offer[]], cluster: ClusterId): Resource {
    const followed = this.#chain.follow(offers[0]);
    if ('broken' in followed) throw unresolved(resource, followed.broken);
    const { entry } = followed;
    const provider = clusterOfKey(entry.key);
    const { storage } = this.#kindAt(provider, resource);
    const selector = this.#selectorOf(entry);
    const shown = this.#shownIn(offers, cluster);
    if (shown === undefined) throw status.noSuchResource();
    const names = [publishedName(provider), cluster === everyCluster ? consumersName(provider) : consumerName(cluster)];
    const origin: Origin = {
      cluster: provider,
      shows: (object) => selector.matches(object.labels),
      consumers: shown,
      names,
      since: this.changes.since(names),
    };
    return { ...resource, storage, origin };
  }

  /** The kind in the provider's workspace, where its objects are stored. */
  #kindAt(provider: ClusterId, resource: Resource): Resource {
    const { group, version, resource: name } = resource;
    const kind = this.isOwn(group, name) ? undefined : this.kindIn(provider, { group, version, resource: name });
    if (kind === undefined) throw unresolved(resource, `its provider has no ${name}.${version}.${group} that can be published`);
    // Virtual objects cannot be published again.
    if (kind.custom === undefined || kind.source !== undefined)
      throw unresolved(resource, 'it is not stored in the workspace of its provider');
    if (kind.namespaced || resource.namespaced) throw unresolved(resource, 'it is not cluster-scoped');
    if (kind.kind !== resource.kind)
      throw unresolved(resource, `its provider has it as ${kind.kind}, which is offered as ${resource.kind}`);
    return kind;
  }

  isConsumer(cluster: ClusterId, offer: Offer): boolean {
    return this.#consumers.isOne(cluster, offer);
  }

  #shownIn(offers: readonly Offer[], cluster: ClusterId): (() => readonly ClusterId[]) | undefined {
    if (cluster === everyCluster) return () => this.#consumers.of(offers);
    const one = [cluster];
    return offers.some((offer) => this.#consumers.isOne(cluster, offer)) ? () => one : undefined;
  }

  #selectorOf(entry: CacheEntry<CachedResource>): LabelSelector {
    let selector = this.#selectors.get(entry);
    if (selector === undefined) {
      const wanted = entry.object.spec?.labelSelector;
      this.#selectors.set(entry, (selector = wanted === undefined ? everything : selectorOfObject(wanted)));
    }
    return selector;
  }
}

function readOnly(resource: Resource): Resource {
  return {
    ...resource,
    verbs: new Set(readVerbs),
    subresources: new Map(),
    custom: { ...resource.custom!, discoveredVerbs: readVerbs, scale: undefined },
  };
}

function unresolved({ group, resource }: Resource, why: string): Error {
  return status.internalError(`error resolving resource ${resource}.${group}: ${why}; please contact APIExport owner to resolve`);
}
