import { type KindDefinition, kindChanges, resourceSchemaSpec } from '@capstan/api';
import type { JsonObject } from '@capstan/machinery/objects';

/** Where the schemas of the last release are. */
export const releasedFolder = 'packages/api/released';

/** The files with the schemas of these kinds. */
export function releasedFiles(kinds: readonly KindDefinition[]): ReadonlyMap<string, string> {
  return new Map(kinds.map((kind) => [fileOf(kind), `${JSON.stringify(resourceSchemaSpec(kind), undefined, 2)}\n`]));
}

/** Sentences about objects, stored with the last release's schemas, that the new schemas would break; empty if there are none. */
export function brokenPromises(released: ReadonlyMap<string, JsonObject>, kinds: readonly KindDefinition[]): string[] {
  const byFile = new Map(kinds.map((kind) => [fileOf(kind), kind]));
  return [...released].flatMap(([file, old]) => {
    const kind = byFile.get(file);
    if (kind === undefined) return [`${file.slice(0, -'.json'.length)}: the kind was released and is no longer defined`];
    return kindChanges(old, resourceSchemaSpec(kind)).map((change) => `${kind.resource}.${kind.group}: ${change}`);
  });
}

const fileOf = ({ group, resource }: KindDefinition): string => `${resource}.${group}.json`;
