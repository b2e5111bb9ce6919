import { defaultPrinter, printers, strategies } from '@capstan/kinds';
import { builtinGroups, builtinResources, builtinTypes, type GroupInfo, parseApiVersion, type ResourceInfo } from '@capstan/machinery';
import { conversions } from './conversions.ts';
import type { Resource, Storage, Subresource } from './resource.ts';

/** A group and its served versions, the preferred one first. */
export interface Group {
  readonly name: string;
  readonly preferredVersion: string;
  readonly versions: readonly GroupVersion[];
}

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
  /** In the order of discovery: by name. */
  readonly resources: ReadonlyMap<string, Resource>;
}

/** The custom resources of a workspace, by their names in paths. They are built on demand. */
export interface CustomKinds {
  /** Changes whenever a kind is added, changed or removed. */
  readonly generation: number;
  hasGroup(group: string): boolean;
  resource(group: string, version: string, resource: string): Resource | undefined;
  /** Every group, by name, with its served kinds. */
  groups(): Iterable<Group>;
}

const noCustomKinds: CustomKinds = { generation: 0, hasGroup: () => false, resource: () => undefined, groups: () => [] };

/** Everything that one workspace serves: the built-in kinds and the custom resources of its users. */
export class Catalog {
  readonly #builtin: ReadonlyMap<string, Group>;
  readonly #custom: CustomKinds;
  #groups: ReadonlyMap<string, Group>;
  #groupsAt = 0;

  constructor(builtin: ReadonlyMap<string, Group>, custom: CustomKinds = noCustomKinds) {
    this.#builtin = builtin;
    this.#custom = custom;
    this.#groups = builtin;
  }

  /** A catalog of the same built-in kinds with other custom resources. */
  with(custom: CustomKinds): Catalog {
    return new Catalog(this.#builtin, custom);
  }

  /** A catalog of some of the built-in kinds with other custom resources. */
  only(keep: (group: string, resource: string) => boolean, custom: CustomKinds): Catalog {
    const kept = new Map<string, Group>();
    for (const group of this.#builtin.values()) {
      const versions = group.versions
        .map((version) => ({ ...version, resources: new Map([...version.resources].filter(([name]) => keep(group.name, name))) }))
        .filter(({ resources }) => resources.size > 0);
      if (versions.length > 0) kept.set(group.name, { ...group, preferredVersion: versions[0]!.version, versions });
    }
    return new Catalog(kept, custom);
  }

  /** The same catalog with one more group, which is served like the built-in ones. */
  plus(group: Group): Catalog {
    return new Catalog(new Map([...this.#builtin, [group.name, group]]), this.#custom);
  }

  /** Values derived from the catalog stay valid while this number is the same. */
  get generation(): number {
    return this.#custom.generation;
  }

  /** Every group; those of users come last, by name. */
  get groups(): ReadonlyMap<string, Group> {
    if (this.#groupsAt !== this.#custom.generation) {
      this.#groupsAt = this.#custom.generation;
      const groups = new Map(this.#builtin);
      for (const group of this.#custom.groups()) groups.set(group.name, joined(groups.get(group.name), group));
      this.#groups = groups;
    }
    return this.#groups;
  }

  isBuiltin(group: string): boolean {
    return this.#builtin.has(group);
  }

  isBuiltinVersion(group: string, version: string): boolean {
    return versionOf(this.#builtin.get(group), version) !== undefined;
  }

  hasGroup(group: string): boolean {
    return this.#builtin.has(group) || this.#custom.hasGroup(group);
  }

  version(group: string, version: string): GroupVersion | undefined {
    return versionOf(this.groups.get(group), version);
  }

  resource(group: string, version: string, resource: string): Resource | undefined {
    const builtin = this.#builtin.get(group);
    if (builtin === undefined) return this.#custom.resource(group, version, resource);
    const found = versionOf(builtin, version);
    return found?.resources.get(resource) ?? this.#custom.resource(group, version, resource);
  }

  /** Whether a resource has this kind in this version: distinguishes a wrong kind from an unknown one. */
  hasKind(apiVersion: string, kind: string): boolean {
    return this.findKind(apiVersion, kind) !== undefined;
  }

  /** The first resource with this kind and apiVersion. */
  findKind(apiVersion: string, kind: string): Resource | undefined {
    const { group, version } = parseApiVersion(apiVersion);
    for (const resource of this.version(group, version)?.resources.values() ?? []) if (resource.kind === kind) return resource;
    return undefined;
  }

  /** The resource of an object that this server creates itself. */
  ofObject({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): Resource {
    const found = this.findKind(apiVersion, kind);
    if (found === undefined) throw new Error(`no resource of kind ${kind} in ${apiVersion} is served`);
    return found;
  }
}

function versionOf(group: Group | undefined, version: string): GroupVersion | undefined {
  return group?.versions.find((candidate) => candidate.version === version);
}

/**
 * A built-in group that users extend: the built-in versions come first, and built-in kinds take precedence over others of the
 * same name.
 */
function joined(builtin: Group | undefined, custom: Group): Group {
  if (builtin === undefined) return custom;
  const own = builtin.versions.map((version) => {
    const more = versionOf(custom, version.version);
    if (more === undefined) return version;
    const resources = [...new Map([...more.resources, ...version.resources])].sort(([a], [b]) => (a < b ? -1 : 1));
    return { ...version, resources: new Map(resources) };
  });
  const added = custom.versions.filter(({ version }) => versionOf(builtin, version) === undefined);
  return { ...builtin, versions: [...own, ...added] };
}

/** `optional` names the versions to serve of those that are off by default, such as `admissionregistration.k8s.io/v1beta1`. */
export function builtinCatalog(optional: ReadonlySet<string> = new Set()): Catalog {
  const byVersion = new Map<string, Map<string, Resource>>();
  for (const info of builtinResources()) {
    const key = `${info.group}/${info.version}`;
    let resources = byVersion.get(key);
    if (resources === undefined) byVersion.set(key, (resources = new Map()));
    resources.set(info.resource, toResource(info));
  }
  const groups = new Map<string, Group>();
  for (const group of builtinGroups()) groups.set(group.name, toGroup(group, servedVersions(group, optional), byVersion));
  return new Catalog(groups);
}

/** The versions of built-in groups that are off by default. */
export function optionalVersions(): string[] {
  return builtinGroups().flatMap(({ name, optionalVersions: versions = [] }) => versions.map((version) => `${name}/${version}`));
}

function servedVersions({ name, versions, optionalVersions: others = [] }: GroupInfo, optional: ReadonlySet<string>): string[] {
  return [...versions, ...others.filter((version) => optional.has(`${name}/${version}`))];
}

function toGroup(
  { name, preferredVersion }: GroupInfo,
  versions: readonly string[],
  byVersion: ReadonlyMap<string, ReadonlyMap<string, Resource>>,
): Group {
  return {
    name,
    preferredVersion,
    versions: versions.map((version) => ({ group: name, version, resources: byVersion.get(`${name}/${version}`) ?? new Map() })),
  };
}

function toResource(info: ResourceInfo): Resource {
  const groupVersion = apiVersionOf(info.group, info.version);
  const types = builtinTypes();
  const key = `${info.group}/${info.resource}`;
  return {
    group: info.group,
    version: info.version,
    groupVersion,
    resource: info.resource,
    kind: info.kind,
    listKind: info.listKind ?? `${info.kind}List`,
    singular: info.singular,
    namespaced: info.namespaced,
    verbs: new Set(info.verbs),
    shortNames: info.shortNames ?? [],
    categories: info.categories ?? [],
    storageVersionHash: info.storageVersionHash ?? '',
    // Types are linked on first use: most kinds of a server are never used.
    get type() {
      return types.object(info.typeName);
    },
    strategy: strategies.get(key) ?? {},
    printer: printers.get(key) ?? defaultPrinter,
    storage: storageOf(info, groupVersion),
    subresources: new Map(info.subresources.map((sub): [string, Subresource] => [sub.name, toSubresource(sub)])),
    virtual: !info.verbs.includes('list') && !info.verbs.includes('get'),
  };
}

function toSubresource(sub: ResourceInfo['subresources'][number]): Subresource {
  const types = builtinTypes();
  return {
    name: sub.name,
    groupVersion: apiVersionOf(sub.group, sub.version),
    kind: sub.kind,
    verbs: new Set(sub.verbs),
    get type() {
      return sub.typeName === undefined ? undefined : types.object(sub.typeName);
    },
  };
}

function storageOf(info: ResourceInfo, groupVersion: string): Storage {
  const conversion = conversions.get(`${groupVersion}/${info.resource}`);
  return conversion ?? { group: info.group, resource: info.resource, apiVersion: groupVersion, kind: info.kind };
}

/** Whether a built-in group has this resource, in any version. */
export function isBuiltinKind(catalog: Catalog, group: string, resource: string): boolean {
  if (!catalog.isBuiltin(group)) return false;
  return catalog.groups
    .get(group)!
    .versions.some(({ version, resources }) => catalog.isBuiltinVersion(group, version) && resources.has(resource));
}

export function apiVersionOf(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}
