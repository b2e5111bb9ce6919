import { builtinGroups, builtinResources, builtinTypes, type GroupInfo, type ResourceInfo } from '@capstan/machinery';
import { conversions } from '../kinds/conversions.ts';
import { defaultPrinter, printers } from '../kinds/printers/printers.ts';
import { strategies } from '../kinds/strategies.ts';
import type { Resource, Storage, Subresource } from './resource.ts';

/** A group and the versions in which it is served, the preferred one first. */
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

/** All that is served. Built-in kinds today; kinds that users add will join here. */
export class Catalog {
  readonly groups: ReadonlyMap<string, Group>;

  constructor(groups: ReadonlyMap<string, Group>) {
    this.groups = groups;
  }

  version(group: string, version: string): GroupVersion | undefined {
    return this.groups.get(group)?.versions.find((candidate) => candidate.version === version);
  }

  resource(group: string, version: string, resource: string): Resource | undefined {
    return this.version(group, version)?.resources.get(resource);
  }

  /** True when some resource has this kind in this version: tells a wrong kind from an unknown one. */
  hasKind(apiVersion: string, kind: string): boolean {
    const slash = apiVersion.indexOf('/');
    const found = this.version(slash < 0 ? '' : apiVersion.slice(0, slash), apiVersion.slice(slash + 1));
    if (found === undefined) return false;
    for (const resource of found.resources.values()) if (resource.kind === kind) return true;
    return false;
  }
}

export function builtinCatalog(): Catalog {
  const byVersion = new Map<string, Map<string, Resource>>();
  for (const info of builtinResources()) {
    const key = `${info.group}/${info.version}`;
    let resources = byVersion.get(key);
    if (resources === undefined) byVersion.set(key, (resources = new Map()));
    resources.set(info.resource, toResource(info));
  }
  const groups = new Map<string, Group>();
  for (const group of builtinGroups()) groups.set(group.name, toGroup(group, byVersion));
  return new Catalog(groups);
}

function toGroup({ name, preferredVersion, versions }: GroupInfo, byVersion: ReadonlyMap<string, ReadonlyMap<string, Resource>>): Group {
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
    // Types are linked when they are first needed: most kinds of a server are never used.
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

export function apiVersionOf(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}
