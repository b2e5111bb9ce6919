import { isObject, type JsonObject, type ManagedFieldsEntry } from '../json.ts';
import { emptySet, type FieldSet, union } from './field-set.ts';
import { decodeFields, MalformedFields } from './fields-v1.ts';

/** The fields that one manager owns, in the API version that it used. */
export interface Managed {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly fields: FieldSet;
  /** The entry that this was read from, reused as long as the fields stay the same. */
  readonly entry?: ManagedFieldsEntry;
}

const mostUpdateManagers = 10;
const ancientManager = 'ancient-changes';

/** Identifies an entry: an applier is the same in every version, an updater is not. */
export function identifierOf(managed: Managed): string {
  const { manager, operation, apiVersion, subresource } = managed;
  return JSON.stringify({
    ...(manager && { manager }),
    operation,
    ...(operation === 'Update' && { apiVersion }),
    ...(subresource && { subresource }),
  });
}

export const isSameManager = (left: Managed, right: Managed): boolean =>
  left.manager === right.manager &&
  left.operation === right.operation &&
  left.subresource === right.subresource &&
  (left.operation === 'Apply' || left.apiVersion === right.apiVersion);

/** Entries that this server wrote: they are canonical, so they need no decoding. */
export function storedEntries(entries: readonly ManagedFieldsEntry[] | undefined): Managed[] {
  const result: Managed[] = [];
  for (const entry of entries ?? []) {
    if (entry.operation === undefined || !entry.apiVersion || entry.fieldsType !== 'FieldsV1') return [];
    result.push(managedOf(entry, (entry.fieldsV1 ?? emptySet) as FieldSet, entry));
  }
  return result;
}

function managedOf(entry: ManagedFieldsEntry, fields: FieldSet, kept?: ManagedFieldsEntry): Managed {
  return {
    manager: entry.manager ?? '',
    operation: entry.operation!,
    apiVersion: entry.apiVersion!,
    subresource: entry.subresource ?? '',
    time: entry.time,
    fields,
    ...(kept && { entry: kept }),
  };
}

/** Entries as a client sent them. Throws MalformedFields for invalid ones. */
export function decodeEntries(entries: readonly ManagedFieldsEntry[]): Managed[] {
  const result = new Map<string, Managed>();
  entries.forEach((entry, index) => {
    if (entry.operation !== 'Apply' && entry.operation !== 'Update') throw new MalformedFields('operation must be `Apply` or `Update`');
    if (!entry.apiVersion) throw new MalformedFields('apiVersion must not be empty');
    if (!entry.fieldsType) throw new MalformedFields(`missing fieldsType in managed fields entry ${index}`);
    if (entry.fieldsType !== 'FieldsV1') {
      throw new MalformedFields(`invalid fieldsType ${JSON.stringify(entry.fieldsType)} in managed fields entry ${index}`);
    }
    const managed = managedOf(entry, decodeFields(entry.fieldsV1));
    result.set(identifierOf(managed), managed);
  });
  return [...result.values()];
}

/** A request with `[]` or `[{}]` clears the managed fields. */
export function isReset(entries: readonly ManagedFieldsEntry[] | undefined | null): boolean {
  if (!Array.isArray(entries)) return false;
  if (entries.length === 0) return true;
  const [first] = entries;
  return entries.length === 1 && isObject(first) && Object.keys(first).length === 0;
}

/** The entries in Kubernetes' order; undefined if there are none. */
export function encodeEntries(managed: readonly Managed[]): ManagedFieldsEntry[] | undefined {
  if (managed.length === 0) return undefined;
  return managed.toSorted(compareManaged).map(encodeEntry);
}

function encodeEntry(managed: Managed): ManagedFieldsEntry {
  if (managed.entry !== undefined) return managed.entry;
  const { manager, operation, apiVersion, time, fields, subresource } = managed;
  const entry: ManagedFieldsEntry = {};
  if (manager !== '') entry.manager = manager;
  entry.operation = operation;
  entry.apiVersion = apiVersion;
  if (time !== undefined) entry.time = time;
  entry.fieldsType = 'FieldsV1';
  entry.fieldsV1 = fields as JsonObject;
  if (subresource !== '') entry.subresource = subresource;
  return entry;
}

const compareText = (left: string, right: string): number => (left === right ? 0 : left < right ? -1 : 1);

function compareManaged(left: Managed, right: Managed): number {
  return (
    compareText(left.operation, right.operation) ||
    compareText(left.time ?? '', right.time ?? '') ||
    compareText(left.manager, right.manager) ||
    compareText(left.apiVersion, right.apiVersion) ||
    compareText(left.subresource, right.subresource)
  );
}

/** Merges the oldest updaters of each version, so that managed fields do not grow forever on an object that many programs update. */
export function capUpdateManagers(managed: Managed[]): Managed[] {
  const updaters = managed.filter(({ operation }) => operation === 'Update');
  let surplus = updaters.length - mostUpdateManagers;
  if (surplus <= 0) return managed;
  updaters.sort((left, right) => compareText(left.time ?? '', right.time ?? '') || compareText(identifierOf(left), identifierOf(right)));
  const result = new Set(managed);
  const firsts = new Map<string, Managed>();
  for (const updater of updaters) {
    if (surplus <= 0) break;
    const first = firsts.get(updater.apiVersion);
    if (first === undefined) {
      firsts.set(updater.apiVersion, updater);
      continue;
    }
    const bucket: Managed = {
      manager: ancientManager,
      operation: 'Update',
      apiVersion: updater.apiVersion,
      subresource: '',
      time: updater.time,
      fields: union(first.fields, updater.fields),
    };
    result.delete(first);
    result.delete(updater);
    const earlier = [...result].find((other) => isSameManager(other, bucket));
    if (earlier !== undefined) result.delete(earlier);
    const merged = earlier === undefined ? bucket : { ...bucket, fields: union(bucket.fields, earlier.fields) };
    result.add(merged);
    firsts.set(updater.apiVersion, merged);
    surplus--;
  }
  return [...result];
}
