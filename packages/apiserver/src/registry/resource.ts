import { type ClusterId, rootCluster } from '@capstan/api';
import type { ScaleMapping, Strategy, TablePrinter } from '@capstan/kinds';
import { type GroupResource, type JsonObject, type KubeObject, type ObjectType, type Parts, parseInParts } from '@capstan/machinery';
import { atRevision, CacheEntry, movedTo, namingCluster } from '../cache/entry.ts';
import { clusterOfKey } from '../cache/key.ts';
import type { Pace } from './pace.ts';

/** A kind as served in one version: everything that request handling needs to know about it. */
export interface Resource extends GroupResource {
  readonly version: string;
  /** The apiVersion: `v1`, `apps/v1`. */
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
  /** A kind that is never stored, such as a review. */
  readonly virtual: boolean;
  /** Objects of several kinds that only share a name: only their metadata can be served. */
  readonly metadataOnly?: true;
  /** Properties of custom resources only. */
  readonly custom?: CustomKind;
  /**
   * For kinds whose objects are stored in another workspace and are read-only here: the kind as read in `cluster`, which may be
   * `*`. Called once per request. Throws the error for the client if it cannot be read.
   */
  readonly source?: (cluster: ClusterId) => Resource;
  /** Where the objects are stored, if not in the workspace that serves them. */
  readonly origin?: Origin;
}

/** Objects served in other workspaces than the one that stores them. */
export interface Origin {
  /** The id of the workspace that stores them. */
  readonly cluster: ClusterId;
  /** Whether an object is published. */
  readonly shows: (entry: CacheEntry) => boolean;
  /** The workspaces covered by the request in which the objects are currently served. */
  readonly consumers: () => readonly ClusterId[];
  /** Watches end when something changes whose name is a prefix of one of these. */
  readonly names: readonly string[];
  /** Before this revision, the view may have been different. */
  readonly since: number;
}

export interface CustomKind {
  /**
   * Decodes an object as this kind: drops fields unknown to its schema, and returns the findings that strict validation rejects.
   * Throws a CodecError.
   */
  readonly read: (object: JsonObject) => readonly string[];
  /** The kind is being deleted: creations are rejected. */
  readonly terminating: boolean;
  /** The warning for users of a deprecated version. */
  readonly warning: string | undefined;
  readonly scale: ScaleMapping | undefined;
  /** The schema as written by its author. */
  readonly schema: () => JsonObject;
  /** Equal for equal content. */
  readonly hash: string;
  /** The verbs listed in discovery. */
  readonly discoveredVerbs: readonly string[];
}

export interface Subresource {
  readonly name: string;
  readonly groupVersion: string;
  readonly kind: string;
  readonly verbs: ReadonlySet<string>;
  readonly type: ObjectType | undefined;
}

/** Where and in which version the objects are stored. Several served versions may share one. */
export interface Storage extends GroupResource {
  readonly apiVersion: string;
  readonly kind: string;
  /** Undefined if the served version is the stored one. */
  readonly convert?: Conversion;
}

export interface Conversion {
  readonly toStorage: (object: KubeObject) => KubeObject | Promise<KubeObject>;
  /** May modify `object`, which was read from `entry`. */
  readonly fromStorage: (object: KubeObject, entry: CacheEntry) => KubeObject;
  /** False if the entry already has the served version. If undefined, every entry is converted. */
  readonly applies?: (entry: CacheEntry) => boolean;
  /**
   * Converts entries that need asynchronous conversion, so that `fromStorage` can return them. Undefined if there is nothing to
   * wait for. Many of them let others run in between, as `pace` says.
   */
  readonly ahead?: (entries: readonly CacheEntry[], pace?: Pace) => Promise<void> | undefined;
}

const converted = new WeakMap<CacheEntry, Map<Storage, string>>();

function conversionOf({ storage: { convert } }: Resource, entry: CacheEntry): Conversion | undefined {
  return convert?.applies === undefined || convert.applies(entry) ? convert : undefined;
}

const origins = new WeakMap<CacheEntry, CacheEntry>();

/** The same object at a later revision, for DELETED events. */
export function laterEntry(entry: CacheEntry, revision: number): CacheEntry {
  const later = new CacheEntry(entry.key, atRevision(entry.text, revision), revision);
  origins.set(later, entry);
  return later;
}

/** The same object with its workspace annotation, which objects of the root workspace have only in requests that expect it. */
export function namedEntry(entry: CacheEntry): CacheEntry {
  if (clusterOfKey(entry.key) !== rootCluster) return entry;
  const named = new CacheEntry(entry.key, namingCluster(entry.key, entry.text), entry.revision);
  origins.set(named, originOf(entry));
  return named;
}

/** The same object with additional labels. */
export function labelledEntry(entry: CacheEntry, labels: Readonly<Record<string, string>>): CacheEntry {
  return withMore(entry, 'labels', labels);
}

/** The same object with additional annotations. */
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

/** The same object as served in another workspace. */
export function movedEntry(entry: CacheEntry, cluster: ClusterId): CacheEntry {
  const key = cluster + entry.key.slice(entry.key.indexOf('/'));
  const moved = new CacheEntry(key, movedTo(cluster, entry.key, entry.text), entry.revision);
  origins.set(moved, originOf(entry));
  return moved;
}

/** The entry from which one of the functions above derived this one, or the entry itself. */
export function originOf(entry: CacheEntry): CacheEntry {
  return origins.get(entry) ?? entry;
}

/** Resolves when the entries can be read in the served version; undefined if they already can. */
export function readable(resource: Resource, entries: readonly CacheEntry[], pace?: Pace): Promise<void> | undefined {
  return resource.storage.convert?.ahead?.(entries, pace);
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
    // Avoids keeping an identical text twice.
    text = written === entry.text ? entry.text : written;
    versions.set(resource.storage, text);
  }
  return text;
}

/** The object in the served version; the caller may modify it. */
export function objectOf(resource: Resource, entry: CacheEntry): KubeObject {
  const object = entry.parse();
  return conversionOf(resource, entry)?.fromStorage(object, entry) ?? object;
}

/** The same in parts. */
export function* objectInParts(resource: Resource, entry: CacheEntry): Parts<KubeObject> {
  const object = (yield* parseInParts(entry.text)) as unknown as KubeObject;
  return conversionOf(resource, entry)?.fromStorage(object, entry) ?? object;
}
