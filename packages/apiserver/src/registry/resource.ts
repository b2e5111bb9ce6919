import { rootCluster } from '@capstan/api';
import type { ScaleMapping, Strategy, TablePrinter } from '@capstan/kinds';
import type { GroupResource, JsonObject, KubeObject, ObjectType } from '@capstan/machinery';
import { atRevision, CacheEntry, movedTo, namingCluster } from '../cache/entry.ts';
import { clusterOfKey } from '../cache/key.ts';

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
  /** Objects of several kinds that only share a name: nothing but their metadata can be shown. */
  readonly metadataOnly?: true;
  /** What only kinds have that users added. */
  readonly custom?: CustomKind;
  /**
   * For kinds whose objects lie in another workspace, where they can only be read: the kind as it is read in `cluster`, which may be `*`. Asked once per
   * request. Throws what the client is told when it cannot be.
   */
  readonly source?: (cluster: string) => Resource;
  /** Where the objects lie, when it is elsewhere than they are shown. */
  readonly origin?: Origin;
}

/** Objects that are shown in workspaces that they do not lie in. */
export interface Origin {
  /** The id of the workspace that they lie in. */
  readonly cluster: string;
  /** Of those, the ones that are published. */
  readonly shows: (entry: CacheEntry) => boolean;
  /** The workspaces that the request is about in which they are shown, as it is now. */
  readonly consumers: () => readonly string[];
  /** Watches end when something changes whose name begins one of these. */
  readonly names: readonly string[];
  /** What was seen before this revision may have been something else. */
  readonly since: number;
}

export interface CustomKind {
  /** Reads an object as this kind: drops what its schema does not know, and answers with what strict validation refuses. Throws a CodecError. */
  readonly read: (object: JsonObject) => readonly string[];
  /** The kind is being deleted: no more objects are created. */
  readonly terminating: boolean;
  /** Shown to whoever uses a version that will go away. */
  readonly warning: string | undefined;
  readonly scale: ScaleMapping | undefined;
  /** The schema as its author wrote it. */
  readonly schema: () => JsonObject;
  /** The same for the same content. */
  readonly hash: string;
  /** The verbs that discovery names. */
  readonly discoveredVerbs: readonly string[];
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
  readonly convert?: Conversion;
}

export interface Conversion {
  readonly toStorage: (object: KubeObject) => KubeObject | Promise<KubeObject>;
  /** `object` belongs to the caller, and was read from `entry`. */
  readonly fromStorage: (object: KubeObject, entry: CacheEntry) => KubeObject;
  /** False when the entry is already what is served. Absent: none is. */
  readonly applies?: (entry: CacheEntry) => boolean;
  /** Converts what cannot be converted at once, so that `fromStorage` can. Undefined when there is nothing to wait for. */
  readonly ahead?: (entries: readonly CacheEntry[]) => Promise<void> | undefined;
}

const converted = new WeakMap<CacheEntry, Map<Storage, string>>();

function conversionOf({ storage: { convert } }: Resource, entry: CacheEntry): Conversion | undefined {
  return convert?.applies === undefined || convert.applies(entry) ? convert : undefined;
}

const origins = new WeakMap<CacheEntry, CacheEntry>();

/** The same object at a later revision: what a deletion shows. */
export function laterEntry(entry: CacheEntry, revision: number): CacheEntry {
  const later = new CacheEntry(entry.key, atRevision(entry.text, revision), revision);
  origins.set(later, entry);
  return later;
}

/** The same object, naming its workspace: those of the root workspace do not, until somebody asks who expects it. */
export function namedEntry(entry: CacheEntry): CacheEntry {
  if (clusterOfKey(entry.key) !== rootCluster) return entry;
  const named = new CacheEntry(entry.key, namingCluster(entry.key, entry.text), entry.revision);
  origins.set(named, originOf(entry));
  return named;
}

/** The same object with more labels than it has. */
export function labelledEntry(entry: CacheEntry, labels: Readonly<Record<string, string>>): CacheEntry {
  return withMore(entry, 'labels', labels);
}

/** The same object with more annotations. */
export function notedEntry(entry: CacheEntry, annotations: Readonly<Record<string, string>>): CacheEntry {
  return withMore(entry, 'annotations', annotations);
}

function withMore(entry: CacheEntry, field: 'labels' | 'annotations', values: Readonly<Record<string, string>>): CacheEntry {
  const object = entry.parse();
  object.metadata[field] = { ...object.metadata[field], ...values };
  const changed = new CacheEntry(entry.key, JSON.stringify(object), entry.revision);
  origins.set(changed, originOf(entry));
  return changed;
}

/** The same object as it is shown in another workspace. */
export function movedEntry(entry: CacheEntry, cluster: string): CacheEntry {
  const key = cluster + entry.key.slice(entry.key.indexOf('/'));
  const moved = new CacheEntry(key, movedTo(cluster, entry.key, entry.text), entry.revision);
  origins.set(moved, originOf(entry));
  return moved;
}

/** The entry that another was made from by one of the above; itself when it was not. */
export function originOf(entry: CacheEntry): CacheEntry {
  return origins.get(entry) ?? entry;
}

/** Resolves when the entries can be read in the served version; undefined when they can be at once. */
export function readable(resource: Resource, entries: readonly CacheEntry[]): Promise<void> | undefined {
  return resource.storage.convert?.ahead?.(entries);
}

/** The object's text in the served version. */
export function textOf(resource: Resource, entry: CacheEntry): string {
  if (conversionOf(resource, entry) === undefined) return entry.text;
  let versions = converted.get(entry);
  if (versions === undefined) converted.set(entry, (versions = new Map()));
  let text = versions.get(resource.storage);
  if (text === undefined) {
    const { kind, apiVersion, metadata, ...rest } = objectOf(resource, entry);
    const written = JSON.stringify({ kind, apiVersion, metadata, ...rest });
    // What turned out the same is not kept twice.
    text = written === entry.text ? entry.text : written;
    versions.set(resource.storage, text);
  }
  return text;
}

/** The object in the served version; it belongs to the caller. */
export function objectOf(resource: Resource, entry: CacheEntry): KubeObject {
  const object = entry.parse();
  return conversionOf(resource, entry)?.fromStorage(object, entry) ?? object;
}
