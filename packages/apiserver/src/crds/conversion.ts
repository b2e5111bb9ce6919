import { asJson, type CompiledSchema, type KubeObject, parseApiVersion } from '@capstan/machinery';
import type { Conversion } from '../registry/resource.ts';
import type { Summary, Version } from './summary.ts';

export interface ConversionParts {
  readonly summary: Summary;
  readonly version: Version;
  readonly cluster: string;
  /** Objects written after this revision are in the form that the definition has now. */
  readonly since: number;
  readonly schemaOf: (version: string) => CompiledSchema;
}

/**
 * Between the versions of a kind whose objects look the same in all of them. What lies in the store may be older than the definition: it may be of
 * another version, have fields that the schema no longer knows, and lack ones that now have a default.
 */
export function plainConversion({ summary, version, since, schemaOf }: ConversionParts): Conversion {
  const prefix = typePrefix(summary, version.name);
  return {
    applies: (entry) => entry.revision <= since || !entry.text.startsWith(prefix),
    toStorage: (object) =>
      version.name === summary.storageVersion
        ? object
        : renew(asVersion(structuredClone(object), summary, { name: summary.storageVersion, schemaOf }), schemaOf),
    // Defaults are those of the version in which it lies there: the version in which it is read adds none.
    fromStorage: (object) => asVersion(renew(object, schemaOf), summary, { name: version.name, schemaOf }),
  };
}

/** How the text of every object of this version begins. */
export function typePrefix({ group, names }: Summary, version: string): string {
  return `{"kind":${JSON.stringify(names.kind)},"apiVersion":${JSON.stringify(`${group}/${version}`)},`;
}

/** The object as it would be if it were written today, in the version in which it was written. */
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
