import {
  type ApiBinding,
  type ApiConversion,
  type ApiExport,
  type ApiExportEndpointSlice,
  apiBindingKind,
  apiConversionKind,
  apiExportKind,
  apiResourceSchemaKind,
  endpointSliceKind,
  pathAnnotation,
} from '@capstan/api';
import { clusterOf, type Informer, type InformerFactory, type ObjectKey, objectKey } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { definitionType } from './kinds.ts';

/** The key of an export; its workspace is an id or a path. */
export const exportKey = (workspace: string, name: string): string => `${workspace}|${name}`;

const known = new WeakMap<InformerFactory, SharingCaches>();

/** Local copies of exports, bindings and schemas in all workspaces, with indexes. */
export class SharingCaches {
  readonly exports: Informer<ApiExport>;
  readonly bindings: Informer<ApiBinding>;
  readonly slices: Informer<ApiExportEndpointSlice>;
  readonly conversions: Informer<ApiConversion>;
  /** Metadata only: it matters just whether a workspace has any. */
  readonly definitions: Informer;
  /** Metadata only: schemas are large, and never change. */
  readonly schemas: Informer;

  constructor(informers: InformerFactory) {
    this.exports = informers.informer<ApiExport>(apiExportKind);
    this.bindings = informers.informer<ApiBinding>(apiBindingKind);
    this.slices = informers.informer<ApiExportEndpointSlice>(endpointSliceKind);
    this.conversions = informers.informer<ApiConversion>(apiConversionKind);
    this.schemas = informers.informer(apiResourceSchemaKind, { metadataOnly: true });
    this.definitions = informers.informer(definitionType, { metadataOnly: true });
    this.definitions.addIndex('cluster', (definition) => [clusterOf(definition) ?? '']);
    this.exports.addIndex('name', namesOf);
    this.exports.addIndex('schema', (object) =>
      (object.spec?.resources ?? []).map(({ schema }) => exportKey(clusterOf(object) ?? '', schema)),
    );
    this.bindings.addIndex('export', (binding) =>
      referencesOf(binding, binding.spec?.reference?.export, binding.status?.apiExportClusterName),
    );
    this.bindings.addIndex('schema', (binding) => (binding.status?.boundResources ?? []).map(({ schema }) => schema.UID));
    this.bindings.addIndex('cluster', (binding) => [clusterOf(binding) ?? '']);
    this.slices.addIndex('export', (slice) => referencesOf(slice, slice.spec?.export));
  }

  /** The same instance for all controllers that share informers. */
  static of(this: void, informers: InformerFactory): SharingCaches {
    let caches = known.get(informers);
    if (caches === undefined) known.set(informers, (caches = new SharingCaches(informers)));
    return caches;
  }

  /** The export that an object in `cluster` refers to. */
  exportAt({ path, name }: { path?: string | undefined; name: string }, cluster: string): ApiExport | undefined {
    return this.exports.byIndex('name', exportKey(path || cluster, name))[0];
  }

  /** The export of a binding, in the workspace in which it was found. */
  exportOf(binding: ApiBinding): ApiExport | undefined {
    const reference = binding.spec?.reference?.export;
    const provider = binding.status?.apiExportClusterName;
    if (reference === undefined) return undefined;
    return this.exportAt(provider ? { path: provider, name: reference.name } : reference, clusterOf(binding) ?? '');
  }

  bindingsTo(object: ApiExport): ApiBinding[] {
    return [...new Set(namesOf(object).flatMap((name) => this.bindings.byIndex('export', name)))];
  }

  isBound(object: ApiExport): boolean {
    return namesOf(object).some((name) => this.bindings.hasIndexed('export', name));
  }

  slicesOf(object: ApiExport): ApiExportEndpointSlice[] {
    return [...new Set(namesOf(object).flatMap((name) => this.slices.byIndex('export', name)))];
  }
}

export const keysOf = (objects: readonly KubeObject[]): ObjectKey[] => objects.map(objectKey);

/** The keys of an export: with the id of its workspace, and with its path. */
function namesOf(object: ApiExport): string[] {
  const name = object.metadata.name ?? '';
  const cluster = clusterOf(object) ?? '';
  const path = object.metadata.annotations?.[pathAnnotation] ?? cluster;
  return [...new Set([exportKey(cluster, name), exportKey(path, name)])];
}

function referencesOf(object: KubeObject, to: { path?: string; name: string } | undefined, found?: string): string[] {
  if (to === undefined) return [];
  return [...new Set([to.path || clusterOf(object) || '', ...(found ? [found] : [])])].map((workspace) => exportKey(workspace, to.name));
}
