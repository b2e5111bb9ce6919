import { parseApiVersion } from '@capstan/machinery';
import { entityTag } from '../http/entity-tag.ts';
import { apiVersionOf, type Catalog, type Group, type GroupVersion } from '../registry/catalog.ts';
import type { Resource } from '../registry/resource.ts';
import type { AggregatedVersion } from './negotiate.ts';

/** A document and the ETag with which clients check for changes. */
export interface Document {
  readonly body: string;
  readonly etag: string;
}

const written = new WeakMap<Catalog, Discovery>();

/** The documents of a catalog in its current state. They are built on demand, and again only after the catalog has changed. */
export function discoveryOf(catalog: Catalog): Discovery {
  let discovery = written.get(catalog);
  if (discovery === undefined || discovery.generation !== catalog.generation) written.set(catalog, (discovery = new Discovery(catalog)));
  return discovery;
}

/** The discovery documents. Each is serialized once. */
export class Discovery {
  readonly generation: number;
  readonly #catalog: Catalog;
  readonly #documents = new Map<string, Document>();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
    this.generation = catalog.generation;
  }

  /** All groups, versions and resources in one document. */
  aggregated(prefix: 'api' | 'apis', version: AggregatedVersion): Document {
    return this.#document(`${prefix} aggregated ${version}`, () => ({
      kind: 'APIGroupDiscoveryList',
      apiVersion: `apidiscovery.k8s.io/${version}`,
      metadata: {},
      items: this.#groups(prefix).map((group) => ({
        metadata: group.name === '' ? {} : { name: group.name },
        versions: group.versions.map((served) => ({
          version: served.version,
          resources: [...served.resources.values()].map(aggregatedResource),
          freshness: 'Current',
        })),
      })),
    }));
  }

  /** `/api`: the versions of the core group. */
  coreVersions(serverAddress: string): Document {
    return this.#document(`/api ${serverAddress}`, () => ({
      kind: 'APIVersions',
      // Clients expect a core version, even in an empty view.
      versions: this.#catalog.groups.get('')?.versions.map(({ version }) => version) ?? ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
    }));
  }

  /** `/apis`: the named groups. */
  groupList(): Document {
    return this.#document('/apis', () => ({
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: this.#groups('apis').map(groupEntry),
    }));
  }

  /** `/apis/<group>`; undefined if the group does not exist. */
  group(name: string): Document | undefined {
    const group = name === '' ? undefined : this.#catalog.groups.get(name);
    return group && this.#document(`/apis/${name}`, () => ({ kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group) }));
  }

  /** `/api/v1` and `/apis/<group>/<version>`. */
  resourceList(group: string, version: string): Document | undefined {
    const served = this.#catalog.version(group, version);
    return served && this.#document(`list ${group}/${version}`, () => resourceList(served));
  }

  /** Every path that is served. */
  paths(others: readonly string[]): Document {
    return this.#document('/', () => {
      const paths = [...others];
      for (const { name, versions } of this.#catalog.groups.values()) {
        const root = name === '' ? '/api' : `/apis/${name}`;
        paths.push(root, ...versions.map(({ version }) => `${root}/${version}`));
      }
      return { paths: paths.sort() };
    });
  }

  #groups(prefix: 'api' | 'apis'): Group[] {
    return [...this.#catalog.groups.values()].filter(({ name }) => (name === '') === (prefix === 'api'));
  }

  #document(key: string, make: () => unknown): Document {
    let found = this.#documents.get(key);
    if (found === undefined) {
      const body = JSON.stringify(make());
      found = { body, etag: entityTag(body) };
      this.#documents.set(key, found);
    }
    return found;
  }
}

function groupEntry({ name, versions, preferredVersion }: Group): object {
  const entry = (version: string): object => ({ groupVersion: apiVersionOf(name, version), version });
  return { name, versions: versions.map(({ version }) => entry(version)), preferredVersion: entry(preferredVersion) };
}

function aggregatedResource(resource: Resource): object {
  return {
    resource: resource.resource,
    responseKind: responseKind(resource, resource),
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singular,
    verbs: verbsOf(resource),
    ...(resource.shortNames.length > 0 && { shortNames: resource.shortNames }),
    ...(resource.categories.length > 0 && { categories: resource.categories }),
    ...(resource.subresources.size > 0 && {
      subresources: [...resource.subresources.values()].map((sub) => ({
        subresource: sub.name,
        responseKind: responseKind(resource, sub),
        verbs: [...sub.verbs],
      })),
    }),
  };
}

function verbsOf({ custom, verbs }: Resource): readonly string[] {
  return custom?.discoveredVerbs ?? [...verbs];
}

/** A group and version equal to the resource's own are only included for kinds that users added. */
function responseKind(resource: Resource, sub: { groupVersion: string; kind: string }): object {
  if (sub.groupVersion === resource.groupVersion && resource.custom === undefined) return { group: '', version: '', kind: sub.kind };
  return { ...parseApiVersion(sub.groupVersion), kind: sub.kind };
}

function resourceList({ group, version, resources }: GroupVersion): object {
  const rows: object[] = [];
  for (const resource of resources.values()) {
    rows.push({
      name: resource.resource,
      singularName: resource.singular,
      namespaced: resource.namespaced,
      kind: resource.kind,
      verbs: verbsOf(resource),
      ...(resource.shortNames.length > 0 && { shortNames: resource.shortNames }),
      ...(resource.categories.length > 0 && { categories: resource.categories }),
      ...(resource.storageVersionHash !== '' && { storageVersionHash: resource.storageVersionHash }),
    });
    for (const sub of resource.subresources.values()) {
      rows.push({
        name: `${resource.resource}/${sub.name}`,
        singularName: '',
        namespaced: resource.namespaced,
        ...(sub.groupVersion !== resource.groupVersion && parseApiVersion(sub.groupVersion)),
        kind: sub.kind,
        verbs: sub.verbs.size === 0 ? null : [...sub.verbs],
      });
    }
  }
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: apiVersionOf(group, version),
    resources: rows,
  };
}
