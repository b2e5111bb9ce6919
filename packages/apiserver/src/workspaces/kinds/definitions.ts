import { readFileSync } from 'node:fs';
import type { JsonObject, KubeObject } from '@capstan/machinery';

/** The format of the generated file. */
export interface KcpFile {
  readonly exports: readonly RootExport[];
  readonly definitions: readonly { readonly name: string; readonly spec: JsonObject }[];
}

/** An APIExport of the root workspace, which brings kinds into the workspaces whose type binds it. */
export interface RootExport {
  readonly name: string;
  readonly resources: readonly ExportedResource[];
  readonly maximalPermissionPolicy?: { readonly local: Record<string, never> };
}

export interface ExportedResource {
  readonly group: string;
  readonly name: string;
  /** The name of the APIResourceSchema. */
  readonly schema: string;
  readonly storage: { readonly crd: Record<string, never> };
}

/** The kinds that every workspace has; the others must be bound. `plural.group` is the name of the definition. */
export const systemKinds: ReadonlySet<string> = new Set([
  'apibindings.apis.kcp.io',
  'apiconversions.apis.kcp.io',
  'apiexportendpointslices.apis.kcp.io',
  'apiexports.apis.kcp.io',
  'apiresourceschemas.apis.kcp.io',
  'cachedresourceendpointslices.cache.kcp.io',
  'cachedresources.cache.kcp.io',
  'logicalclusters.core.kcp.io',
]);

/** The timestamp of definitions that have always existed; no object is older. */
const epoch = '1970-01-01T00:00:00Z';

let file: KcpFile | undefined;
let definitions: readonly KubeObject[] | undefined;

/** kcp's kinds as established definitions. They are shared and must not be modified. */
export function kcpDefinitions(): readonly KubeObject[] {
  return (definitions ??= read().definitions.map(established));
}

/** The exports of the root workspace. */
export function exportedByRoot(): readonly RootExport[] {
  return read().exports;
}

/** The APIResourceSchemas of the root workspace's exports. */
export function rootResourceSchemas(): KubeObject[] {
  return exportedByRoot().flatMap(({ resources }) => resources.map(resourceSchema));
}

function resourceSchema({ group, name, schema }: ExportedResource): KubeObject {
  const { spec } = read().definitions.find((definition) => definition.name === `${name}.${group}`)!;
  const versions = spec['versions'] as { schema: { openAPIV3Schema: JsonObject } }[];
  return {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: schema },
    spec: { ...spec, versions: versions.map((version) => ({ subresources: {}, ...version, schema: version.schema.openAPIV3Schema })) },
  };
}

function established({ name, spec }: KcpFile['definitions'][number]): KubeObject {
  const versions = spec['versions'] as { name: string; storage: boolean }[];
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name, generation: 1, creationTimestamp: epoch },
    spec: { conversion: { strategy: 'None' }, ...spec },
    status: {
      conditions: [
        condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
        condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
      ],
      acceptedNames: spec['names'],
      storedVersions: versions.filter(({ storage }) => storage).map((version) => version.name),
    },
  };
}

function condition(type: string, reason: string, message: string): JsonObject {
  return { type, status: 'True', lastTransitionTime: epoch, reason, message };
}

function read(): KcpFile {
  return (file ??= JSON.parse(readFileSync(new URL('../generated/kcp.json', import.meta.url), 'utf8')) as KcpFile);
}
