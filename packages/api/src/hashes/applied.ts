import { createHash } from 'node:crypto';
import { fieldsOf, type Json, type JsonObject, type KubeObject } from '@capstan/machinery';
import { appliedAnnotation, builtInKindsAnnotation } from '../capstan/platform.ts';
import { pathAnnotation } from '../kcp/facts.ts';

/** The annotations that belong to the content of a type. */
const contentAnnotations: readonly string[] = [builtInKindsAnnotation];

type Parts = ReadonlyMap<string, Json>;

/** The object with a record of its parts, by which the next version of the server knows which of them nobody edited. */
export function withApplied(object: KubeObject): KubeObject {
  const record = Object.fromEntries([...partsOf(object)].map(([name, value]) => [name, hashOf(value)]));
  const annotations = { ...object.metadata.annotations, [appliedAnnotation]: JSON.stringify(record) };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/**
 * The existing object with the wanted parts, except those that somebody edited since they were written; undefined if nothing changes. Objects
 * without a record get the parts that they lack.
 */
export function renewed(existing: KubeObject, wanted: KubeObject): KubeObject | undefined {
  const record = recordOf(existing);
  const [current, target] = [partsOf(existing), partsOf(wanted)];
  const parts = new Map(current);
  for (const name of new Set([...target.keys(), ...Object.keys(record)])) {
    const [now, then] = [current.get(name), record[name]];
    const isUntouched = now === undefined ? then === undefined : hashOf(now) === then;
    if (!isUntouched) continue;
    const value = target.get(name);
    if (value === undefined) parts.delete(name);
    else parts.set(name, value);
  }
  const changed = withParts(existing, wanted, parts);
  return sameParts(current, parts) && recordText(existing) === recordText(changed) ? undefined : changed;
}

function partsOf({ spec, metadata }: KubeObject): Parts {
  const parts = new Map(Object.entries(fieldsOf(spec) as JsonObject).map(([name, value]) => [`spec.${name}`, value]));
  for (const name of contentAnnotations) {
    const value = metadata.annotations?.[name];
    if (value !== undefined) parts.set(name, value);
  }
  return parts;
}

function withParts(existing: KubeObject, wanted: KubeObject, parts: Parts): KubeObject {
  const annotations = { ...existing.metadata.annotations };
  for (const name of contentAnnotations) {
    const value = parts.get(name);
    if (typeof value === 'string') annotations[name] = value;
    else delete annotations[name];
  }
  for (const name of [appliedAnnotation, pathAnnotation]) {
    const value = wanted.metadata.annotations?.[name];
    if (value !== undefined) annotations[name] = value;
  }
  const spec = Object.fromEntries([...parts].flatMap(([name, value]) => (name.startsWith('spec.') ? [[name.slice(5), value]] : [])));
  return { ...existing, metadata: { ...existing.metadata, annotations }, spec };
}

function sameParts(one: Parts, other: Parts): boolean {
  return one.size === other.size && [...one].every(([name, value]) => hashOf(value) === hashOf(other.get(name)));
}

const recordText = ({ metadata }: KubeObject): string | undefined => metadata.annotations?.[appliedAnnotation];

function recordOf(object: KubeObject): Readonly<Record<string, string>> {
  try {
    return fieldsOf(JSON.parse(recordText(object) ?? '{}')) as Record<string, string>;
  } catch {
    return {};
  }
}

function hashOf(value: Json | undefined): string {
  return createHash('sha256')
    .update(JSON.stringify(value, sorted) ?? '')
    .digest('hex')
    .slice(0, 12);
}

/** Fields in the order of their names, since the store keeps no order. */
function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
