import { readFileSync } from 'node:fs';
import type { JsonObject, KubeObject } from '@capstan/machinery';

/** The form of the generated file. */
export interface KcpFile {
  readonly exports: readonly RootExport[];
  readonly definitions: readonly { readonly name: string; readonly spec: JsonObject }[];
}

/** An APIExport of the root workspace, through which kinds reach the workspaces whose type binds them. */
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

/** The kinds that every workspace has; the others come by binding. As `plural.group`, which is the name of their definition. */
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

/** No object of these kinds is older than this, so it is the time of what has always been so. */
const epoch = '1970-01-01T00:00:00Z';

let file: KcpFile | undefined;
let definitions: readonly KubeObject[] | undefined;

/** kcp's kinds as definitions that are already established. They are shared: nobody may change them. */
export function kcpDefinitions(): readonly KubeObject[] {
  return (definitions ??= read().definitions.map(established));
}

/** What the root workspace exports. */
export function exportedByRoot(): readonly RootExport[] {
  return read().exports;
}

/** The APIResourceSchemas that the exports of the root workspace name. */
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
