import type { ClusterId } from '@capstan/api';
import { asJson, type CompiledSchema, type KubeObject, parseApiVersion } from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import type { Conversion } from '../registry/resource.ts';
import type { Summary, Version } from './summary.ts';

export interface ConversionParts {
  readonly summary: Summary;
  readonly version: Version;
  readonly cluster: ClusterId;
  /** Whether an object was written before the definition got its current form, which it may not match. */
  readonly isOlder: (entry: CacheEntry) => boolean;
  readonly schemaOf: (version: string) => CompiledSchema;
}

/**
 * Converts between versions with strategy None, where only the apiVersion differs. A stored object may be older than the definition: it may
 * have another version, contain fields that were removed from the schema, and lack new defaults.
 */
export function plainConversion({ summary, version, isOlder, schemaOf }: ConversionParts): Conversion {
  const prefix = typePrefix(summary, version.name);
  return {
    applies: (entry) => isOlder(entry) || !entry.text.startsWith(prefix),
    toStorage: (object) =>
      version.name === summary.storageVersion
        ? object
        : renew(asVersion(structuredClone(object), summary, { name: summary.storageVersion, schemaOf }), schemaOf),
    // Kubernetes applies the defaults of the stored version, not those of the requested one.
    fromStorage: (object) => asVersion(renew(object, schemaOf), summary, { name: version.name, schemaOf }),
  };
}

/** The first bytes of every serialized object of this version. */
export function typePrefix({ group, names }: Summary, version: string): string {
  return `{"kind":${JSON.stringify(names.kind)},"apiVersion":${JSON.stringify(`${group}/${version}`)},`;
}

/** The object as it would be written today, in its stored version. */
export function renew(object: KubeObject, schemaOf: (version: string) => CompiledSchema): KubeObject {
  const schema = schemaOf(versionOf(object));
  schema.prune(asJson(object));
  schema.applyDefaults(asJson(object));
  return object;
}

function asVersion(
  object: KubeObject,
  { group }: Summary,
  { name, schemaOf }: { name: string; schemaOf: (version: string) => CompiledSchema },
): KubeObject {
  const apiVersion = `${group}/${name}`;
  if (object.apiVersion === apiVersion) return object;
  object.apiVersion = apiVersion;
  schemaOf(name).prune(asJson(object));
  return object;
}

export function versionOf({ apiVersion }: KubeObject): string {
  return parseApiVersion(apiVersion).version;
}
