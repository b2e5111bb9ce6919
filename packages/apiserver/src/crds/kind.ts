import { createHash } from 'node:crypto';
import type { RuleChecker } from '@capstan/kinds';
import { builtinTypes, CodecError, type CompiledSchema, type JsonObject, MalformedResource, readMetadata } from '@capstan/machinery';
import { apiVersionOf } from '../registry/catalog.ts';
import type { Conversion, CustomKind, Resource, Subresource } from '../registry/resource.ts';
import { customPrinter } from './columns.ts';
import { scaleMapping } from './scale.ts';
import { customStrategy } from './strategy.ts';
import type { Summary, Version } from './summary.ts';
import { byPreference } from './versions.ts';

const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const verbsAtTheEnd = ['delete', 'deletecollection', 'get', 'list', 'watch'];
const subresourceVerbs: ReadonlySet<string> = new Set(['get', 'patch', 'update']);

export interface KindParts {
  readonly summary: Summary;
  readonly version: Version;
  readonly schema: () => CompiledSchema;
  /** Available without compiling the schema. */
  readonly written: { readonly schema: () => JsonObject; readonly hash: () => string };
  readonly rules: () => RuleChecker | undefined;
  readonly conversion: Conversion | undefined;
  readonly storedAs?: string;
}

/** A custom kind in one version, as the request path sees it. */
export function customResource({ summary, version, schema, written, rules, conversion, storedAs }: KindParts): Resource {
  const { group, names } = summary;
  const groupVersion = apiVersionOf(group, version.name);
  const base = { group, resource: names.plural };
  return {
    ...base,
    version: version.name,
    groupVersion,
    kind: names.kind,
    listKind: names.listKind,
    singular: names.singular,
    namespaced: summary.namespaced,
    // All verbs are still accepted while the kind is being deleted, although discovery no longer lists those that write.
    verbs: new Set(verbs),
    shortNames: names.shortNames,
    categories: names.categories,
    storageVersionHash: storageVersionHash(group, summary.storageVersion, names.kind),
    get type() {
      return schema().type;
    },
    strategy: customStrategy({ version, schema, rules }),
    printer: customPrinter(version.columns),
    storage: {
      group,
      resource: storedAs ?? names.plural,
      apiVersion: apiVersionOf(group, summary.storageVersion),
      kind: names.kind,
      ...(conversion !== undefined && { convert: conversion }),
    },
    subresources: subresourcesOf(version, { groupVersion, kind: names.kind, schema }),
    virtual: false,
    custom: {
      read: (object) => read(object, schema()),
      terminating: summary.terminating,
      warning: warningOf(summary, version),
      scale: version.scale && scaleMapping(version.scale),
      schema: written.schema,
      get hash() {
        return written.hash();
      },
      discoveredVerbs: summary.terminating ? verbsAtTheEnd : verbs,
    } satisfies CustomKind,
  };
}

function read(object: JsonObject, schema: CompiledSchema): string[] {
  const found = [...readMetadata(object), ...schema.prune(object).map((path) => `unknown field ${JSON.stringify(path)}`)];
  try {
    found.push(...schema.readEmbedded(object));
  } catch (error) {
    throw error instanceof MalformedResource ? new CodecError(error.message) : error;
  }
  return found;
}

function subresourcesOf(
  { hasStatus, scale }: Version,
  own: { groupVersion: string; kind: string; schema: () => CompiledSchema },
): ReadonlyMap<string, Subresource> {
  const subresources = new Map<string, Subresource>();
  if (hasStatus) {
    subresources.set('status', {
      name: 'status',
      groupVersion: own.groupVersion,
      kind: own.kind,
      verbs: subresourceVerbs,
      get type() {
        return own.schema().type;
      },
    });
  }
  if (scale !== undefined) {
    subresources.set('scale', {
      name: 'scale',
      groupVersion: 'autoscaling/v1',
      kind: 'Scale',
      verbs: subresourceVerbs,
      get type() {
        return builtinTypes().object('io.k8s.api.autoscaling.v1.Scale');
      },
    });
  }
  return subresources;
}

/** Equal on all servers that store the same kind in the same version: clients use it to detect whether objects must be migrated. */
function storageVersionHash(group: string, version: string, kind: string): string {
  return createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');
}

function warningOf({ group, names, versions }: Summary, version: Version): string | undefined {
  if (!version.deprecated) return undefined;
  if (version.deprecationWarning !== undefined) return version.deprecationWarning;
  const newer = versions
    .filter(({ served, deprecated, name }) => served && !deprecated && byPreference(name, version.name) < 0)
    .map(({ name }) => name)
    .sort(byPreference);
  const advice = newer.length === 0 ? '' : `; use ${group}/${newer[0]} ${names.kind}`;
  return `${group}/${version.name} ${names.kind} is deprecated${advice}`;
}
