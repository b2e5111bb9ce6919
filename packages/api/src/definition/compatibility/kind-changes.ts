import { isObject, type JsonObject } from '@capstan/machinery/objects';
import { schemaChanges } from './schema-changes.ts';

/**
 * The changes between two specs of an APIResourceSchema that would reject objects stored with the old one, or break its clients. A version may stop
 * being served, or disappear, only after a release in which it was deprecated and not stored.
 */
export function kindChanges(old: JsonObject, now: JsonObject): string[] {
  const changes: string[] = [];
  for (const [what, path] of [['group', ['group']] as const, ['scope', ['scope']] as const, ['kind', ['names', 'kind']] as const]) {
    const [before, after] = [valueAt(old, path), valueAt(now, path)];
    if (before !== after) changes.push(`the ${what} changed from ${String(before)} to ${String(after)}`);
  }
  const versions = new Map(versionsOf(now).map((version) => [version['name'], version]));
  for (const before of versionsOf(old)) changes.push(...versionChanges(before, versions.get(before['name'])));
  const [stored, storing] = [versionsOf(old).find(isStored), versionsOf(now).find(isStored)];
  if (stored !== undefined && storing !== undefined && stored['name'] !== storing['name'])
    changes.push(...schemaChanges(schemaOf(stored), schemaOf(storing), `objects stored as ${nameOf(stored)}, read as ${nameOf(storing)}`));
  return changes;
}

function versionChanges(before: JsonObject, after: JsonObject | undefined): string[] {
  const name = nameOf(before);
  const mayGo = before['deprecated'] === true && !isStored(before);
  if (after === undefined) return mayGo ? [] : [`${name}: the version was removed; deprecate it for one release first`];
  const changes = schemaChanges(schemaOf(before), schemaOf(after), name);
  if (before['served'] === true && after['served'] !== true && before['deprecated'] !== true)
    changes.push(`${name}: the version is no longer served; deprecate it for one release first`);
  for (const subresource of ['status', 'scale']) {
    const [had, has] = [before, after].map((version) => valueAt(version, ['subresources', subresource]) !== undefined);
    if (had && !has) changes.push(`${name}: the subresource ${subresource} was removed`);
  }
  return changes;
}

const isStored = (version: JsonObject): boolean => version['storage'] === true;
const nameOf = (version: JsonObject): string => (typeof version['name'] === 'string' ? version['name'] : '');

function versionsOf({ versions }: JsonObject): JsonObject[] {
  return Array.isArray(versions) ? versions.filter(isObject) : [];
}

function schemaOf({ schema }: JsonObject): JsonObject {
  return isObject(schema) ? schema : {};
}

function valueAt(object: JsonObject, path: readonly string[]): unknown {
  let value: unknown = object;
  for (const key of path) value = isObject(value) ? value[key] : undefined;
  return value;
}
