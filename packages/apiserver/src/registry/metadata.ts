import { randomInt, randomUUID } from 'node:crypto';
import { clusterAnnotation } from '@capstan/api';
import { formatTime, type KubeObject, type ObjectMeta, sameJson } from '@capstan/machinery';

const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
const maxNameLength = 63;

/** A name with the given prefix and a random suffix. */
export function generateName(base: string): string {
  let suffix = '';
  for (let at = 0; at < suffixLength; at++) suffix += suffixLetters[randomInt(suffixLetters.length)];
  return base.slice(0, maxNameLength - suffixLength) + suffix;
}

/** Puts fields into a fixed order, so that equal metadata has equal text. */
function ordered(meta: ObjectMeta): ObjectMeta {
  const result: ObjectMeta = {};
  if (meta.name) result.name = meta.name;
  if (meta.generateName) result.generateName = meta.generateName;
  if (meta.namespace) result.namespace = meta.namespace;
  if (meta.selfLink) result.selfLink = meta.selfLink;
  if (meta.uid) result.uid = meta.uid;
  if (meta.resourceVersion) result.resourceVersion = meta.resourceVersion;
  if (meta.generation) result.generation = meta.generation;
  if (meta.creationTimestamp !== undefined) result.creationTimestamp = meta.creationTimestamp;
  if (meta.deletionTimestamp) result.deletionTimestamp = meta.deletionTimestamp;
  if (meta.deletionGracePeriodSeconds !== undefined) result.deletionGracePeriodSeconds = meta.deletionGracePeriodSeconds;
  if (meta.labels !== undefined && hasKeys(meta.labels)) result.labels = meta.labels;
  if (meta.annotations !== undefined && hasKeys(meta.annotations)) result.annotations = meta.annotations;
  if (meta.ownerReferences !== undefined && meta.ownerReferences.length > 0) result.ownerReferences = meta.ownerReferences;
  if (meta.finalizers !== undefined && meta.finalizers.length > 0) result.finalizers = meta.finalizers;
  if (meta.managedFields !== undefined && meta.managedFields.length > 0) result.managedFields = meta.managedFields;
  return result;
}

function hasKeys(record: object): boolean {
  for (const _ in record) return true;
  return false;
}

/** Removes selfLink, which is never stored; dry runs return it. */
export function dropLink({ metadata }: KubeObject): void {
  if (metadata.selfLink !== undefined) delete metadata.selfLink;
}

/** The workspace annotation is only displayed, never stored: a value sent back by a client changes nothing and has no manager. */
export function keepCluster({ metadata }: KubeObject, old: KubeObject | undefined): void {
  const shown = old?.metadata.annotations?.[clusterAnnotation];
  if (metadata.annotations?.[clusterAnnotation] === shown) return;
  if (shown !== undefined) {
    (metadata.annotations ??= {})[clusterAnnotation] = shown;
    return;
  }
  delete metadata.annotations![clusterAnnotation];
  if (!hasKeys(metadata.annotations!)) delete metadata.annotations;
}

/** Merges duplicate owner references, with a warning that they will be rejected some day. */
export function uniteOwners({ metadata }: KubeObject, warn: (message: string) => void): void {
  const owners = metadata.ownerReferences;
  if (owners === undefined || owners.length < 2) return;
  const kept: typeof owners = [];
  const known = new Set<string>();
  const repeated = new Set<string>();
  for (const owner of owners) {
    const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = owner;
    const key = JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);
    if (known.has(key)) repeated.add(uid);
    else kept.push(owner);
    known.add(key);
  }
  if (repeated.size === 0) return;
  metadata.ownerReferences = kept;
  warn(
    `.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${[...repeated].join(', ')}`,
  );
}

/** A new object is not being deleted, whatever the client sends. */
export function forgetDeletion({ metadata }: KubeObject): void {
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
}

/** Sets the fields of a new object that only the server decides. */
export function stampNew(object: KubeObject, now: Date, hasGeneration: boolean): void {
  forgetDeletion(object);
  const meta = ordered(object.metadata);
  delete meta.resourceVersion;
  meta.uid = randomUUID();
  meta.creationTimestamp = formatTime(now);
  if (hasGeneration) meta.generation = 1;
  object.metadata = ordered(meta);
}

/** Restores fields that an update must not remove: clients often omit them. */
export function stampUpdate(object: KubeObject, old: KubeObject): void {
  const meta = object.metadata;
  const before = old.metadata;
  if (!meta.uid && before.uid !== undefined) meta.uid = before.uid;
  if (before.creationTimestamp) meta.creationTimestamp = before.creationTimestamp;
  if (before.deletionTimestamp !== undefined) {
    meta.deletionTimestamp ??= before.deletionTimestamp;
    if (before.deletionGracePeriodSeconds !== undefined) meta.deletionGracePeriodSeconds ??= before.deletionGracePeriodSeconds;
  }
  if (before.generation === undefined) delete meta.generation;
  else meta.generation = before.generation;
  object.metadata = ordered(meta);
}

/** Whether anything but metadata and status differs. */
export function specChanged(object: KubeObject, old: KubeObject): boolean {
  for (const key of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (key === 'metadata' || key === 'status' || key === 'apiVersion' || key === 'kind') continue;
    if (!sameJson(object[key], old[key])) return true;
  }
  return false;
}
