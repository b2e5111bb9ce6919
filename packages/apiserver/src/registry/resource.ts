import type { GroupResource, KubeObject, ObjectType } from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import type { Strategy, TablePrinter } from '../kinds/strategy.ts';

/** A kind as it is served in one version: all that the request path needs to know of it. */
export interface Resource extends GroupResource {
  readonly version: string;
  /** As it stands in apiVersion: `v1`, `apps/v1`. */
  readonly groupVersion: string;
  readonly kind: string;
  readonly listKind: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly verbs: ReadonlySet<string>;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly storageVersionHash: string;
  readonly type: ObjectType;
  readonly strategy: Strategy;
  readonly printer: TablePrinter;
  readonly storage: Storage;
  readonly subresources: ReadonlyMap<string, Subresource>;
  /** A kind that is answered and never stored, such as a review. */
  readonly virtual: boolean;
}

export interface Subresource {
  readonly name: string;
  readonly groupVersion: string;
  readonly kind: string;
  readonly verbs: ReadonlySet<string>;
  readonly type: ObjectType | undefined;
}

/** Where and in which version the objects lie. Several served versions may share one. */
export interface Storage extends GroupResource {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent when the served version is the stored one. */
  readonly convert?: { readonly toStorage: (object: KubeObject) => KubeObject; readonly fromStorage: (object: KubeObject) => KubeObject };
}

/** How many characters of an object's text come before its metadata: list items leave them out. */
export function typeLength({ kind, groupVersion }: Resource): number {
  return `{"kind":"${kind}","apiVersion":"${groupVersion}",`.length;
}

const converted = new WeakMap<CacheEntry, Map<string, string>>();

/** The object's text in the served version. */
export function textOf(resource: Resource, entry: CacheEntry): string {
  if (resource.storage.convert === undefined) return entry.text;
  let versions = converted.get(entry);
  if (versions === undefined) converted.set(entry, (versions = new Map()));
  let text = versions.get(resource.groupVersion);
  if (text === undefined) {
    const { kind, apiVersion, metadata, ...rest } = objectOf(resource, entry);
    text = JSON.stringify({ kind, apiVersion, metadata, ...rest });
    versions.set(resource.groupVersion, text);
  }
  return text;
}

/** The object in the served version; it belongs to the caller. */
export function objectOf(resource: Resource, entry: CacheEntry): KubeObject {
  const object = entry.parse();
  return resource.storage.convert === undefined ? object : resource.storage.convert.fromStorage(object);
}
