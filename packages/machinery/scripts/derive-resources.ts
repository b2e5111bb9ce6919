import type { GroupInfo, ResourceInfo, ResourcesFile, SubresourceInfo } from '../src/schema/table-format.ts';
import { isBuiltIn, type OpenApiSchemas } from './open-api.ts';

interface ApiResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly storageVersionHash?: string;
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

type Get = (path: string) => Promise<unknown>;

/** APIs that Kubernetes serves only when enabled. They must be enabled on the server that the tables are derived from. */
const optional: ReadonlySet<string> = new Set(['admissionregistration.k8s.io/v1beta1']);

/** Everything in discovery, with the schema of each kind. */
export async function deriveResources(get: Get, schemas: OpenApiSchemas): Promise<ResourcesFile> {
  const typeNames = typeNamesByKind(schemas);
  const list = (await get('/apis')) as {
    groups: { name: string; versions: { version: string }[]; preferredVersion: { version: string } }[];
  };
  const groups: GroupInfo[] = [
    { name: '', versions: ['v1'], preferredVersion: 'v1' },
    ...list.groups
      .filter(({ name }) => isBuiltIn(name))
      .map((group) => ({
        name: group.name,
        ...versionsOf(group),
        preferredVersion: group.preferredVersion.version,
      })),
  ];
  const resources: ResourceInfo[] = [];
  for (const group of groups) {
    for (const version of [...group.versions, ...(group.optionalVersions ?? [])]) {
      resources.push(...(await deriveVersion(get, { group: group.name, version }, typeNames)));
    }
  }
  return { groups, resources };
}

function versionsOf(group: { name: string; versions: { version: string }[] }): Pick<GroupInfo, 'versions' | 'optionalVersions'> {
  const versions = group.versions.map(({ version }) => version);
  const isOptional = (version: string): boolean => optional.has(`${group.name}/${version}`);
  const optionalVersions = versions.filter(isOptional);
  return {
    versions: versions.filter((version) => !isOptional(version)),
    ...(optionalVersions.length > 0 && { optionalVersions }),
  };
}

async function deriveVersion(get: Get, at: GroupVersion, typeNames: Map<string, string>): Promise<ResourceInfo[]> {
  const path = at.group === '' ? `/api/${at.version}` : `/apis/${at.group}/${at.version}`;
  const { resources } = (await get(path)) as { resources: ApiResource[] };
  const subresources = new Map<string, SubresourceInfo[]>();
  for (const entry of resources) {
    const [parent, name] = entry.name.split('/');
    if (name === undefined) continue;
    const group = entry.group ?? at.group;
    const version = entry.version ?? at.version;
    const typeName = typeNames.get(`${group}/${version}/${entry.kind}`) ?? typeNames.get(`${at.group}/${at.version}/${entry.kind}`);
    const info = { name, group, version, kind: entry.kind, verbs: entry.verbs, ...(typeName !== undefined && { typeName }) };
    subresources.set(parent!, [...(subresources.get(parent!) ?? []), info]);
  }
  return resources
    .filter((entry) => !entry.name.includes('/'))
    .map((entry) => {
      const group = entry.group ?? at.group;
      const version = entry.version ?? at.version;
      const typeName = typeNames.get(`${group}/${version}/${entry.kind}`);
      if (typeName === undefined) throw new Error(`discovery has ${entry.kind} in ${group}/${version}, OpenAPI has no schema for it`);
      const listable = typeNames.has(`${group}/${version}/${entry.kind}List`);
      return {
        group: at.group,
        version: at.version,
        resource: entry.name,
        singular: entry.singularName,
        kind: entry.kind,
        ...(listable && { listKind: `${entry.kind}List` }),
        typeName,
        namespaced: entry.namespaced,
        verbs: entry.verbs,
        ...(entry.shortNames && { shortNames: entry.shortNames }),
        ...(entry.categories && { categories: entry.categories }),
        ...(entry.storageVersionHash && { storageVersionHash: entry.storageVersionHash }),
        subresources: subresources.get(entry.name) ?? [],
      };
    });
}

function typeNamesByKind(schemas: OpenApiSchemas): Map<string, string> {
  const names = new Map<string, string>();
  for (const [name, schema] of schemas) {
    for (const { group, version, kind } of schema['x-kubernetes-group-version-kind'] ?? []) names.set(`${group}/${version}/${kind}`, name);
  }
  return names;
}
