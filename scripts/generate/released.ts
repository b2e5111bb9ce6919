import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KindDefinition, kindChanges, resourceSchemaSpec } from '@capstan/api';
import type { JsonObject } from '@capstan/machinery/objects';
import { foldersIn, jsonFiles, root, writeFolders } from './folders.ts';

/** Contains a folder with the schemas of the last release, named after its version. */
export const releasedFolder = 'packages/api/released';

export interface Release {
  readonly version: string;
  /** The specs of the APIResourceSchemas, by file. */
  readonly schemas: ReadonlyMap<string, JsonObject>;
}

/** The last release; undefined before the first one. */
export function lastRelease(base = root): Release | undefined {
  const [version, ...others] = foldersIn(releasedFolder, base);
  if (others.length > 0)
    throw new Error(`expected the schemas of one release in ${releasedFolder}, found ${[version, ...others].join(' and ')}`);
  return version === undefined ? undefined : { version, schemas: jsonFiles(`${releasedFolder}/${version}`, base) };
}

/** Keeps the schemas of the kinds as those of a release, instead of the last one. Throws if they break what was released before. */
export function recordRelease({ version, schemas }: Release, base = root): void {
  const last = lastRelease(base);
  const broken = last === undefined ? [] : brokenPromises(last.schemas, schemas);
  if (broken.length > 0)
    throw new Error(`expected schemas that accept all objects of release ${last!.version}, found:\n${broken.join('\n')}`);
  const folders = new Set([version, ...(last === undefined ? [] : [last.version])].map((name) => `${releasedFolder}/${name}`));
  const text = (schema: JsonObject): string => `${JSON.stringify(schema, undefined, 2)}\n`;
  writeFolders([...folders], new Map([...schemas].map(([file, schema]) => [`${releasedFolder}/${version}/${file}`, text(schema)])), base);
}

/** The schemas of these kinds, by file. */
export function schemasOf(kinds: readonly KindDefinition[]): ReadonlyMap<string, JsonObject> {
  return new Map(kinds.map((kind) => [`${kind.resource}.${kind.group}.json`, resourceSchemaSpec(kind) as unknown as JsonObject]));
}

/** Sentences about objects, stored with the last release's schemas, that the new schemas would break; empty if there are none. */
export function brokenPromises(released: ReadonlyMap<string, JsonObject>, schemas: ReadonlyMap<string, JsonObject>): string[] {
  return [...released].flatMap(([file, old]) => {
    const name = file.slice(0, -'.json'.length);
    const now = schemas.get(file);
    if (now === undefined) return [`${name}: the kind was released and is no longer defined`];
    return kindChanges(old, now).map((change) => `${name}: ${change}`);
  });
}

/** The version of the program. */
export function ownVersion(base = root): string {
  return (JSON.parse(readFileSync(join(base, 'package.json'), 'utf8')) as { version: string }).version;
}
