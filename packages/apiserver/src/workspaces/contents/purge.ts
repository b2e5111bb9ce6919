import { bindingFinalizer, type ClusterId, contentFinalizer, type LogicalCluster } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { formatTime, type KubeObject } from '@capstan/machinery';
import { type Entry, prefixRange, type Store, StoreError } from '@capstan/store';
import { storedText } from '../../cache/entry.ts';
import { parseStoreKey } from '../../cache/watch-cache.ts';
import { logicalClusters } from '../tree.ts';
import { ownerlessResources } from './providers.ts';

/** The objects that are left in a workspace that is being emptied. */
export interface Remains {
  /** `resource.group` → how many. */
  readonly resources: Readonly<Record<string, number>>;
  /** Finalizer → on how many objects. */
  readonly finalizers: Readonly<Record<string, number>>;
}

export interface Purged {
  /** True when the workspace is no more: nothing is left under its id. */
  readonly gone: boolean;
  readonly remains: Remains;
}

/** Finalizers of controllers whose work the deletion of the whole workspace does, so nothing waits for them. */
const moot: ReadonlySet<string> = new Set([
  contentFinalizer,
  bindingFinalizer,
  'customresourcecleanup.apiextensions.k8s.io',
  'foregroundDeletion',
  'orphan',
  'kubernetes',
]);

/** Without these the rest could not be reached any more by whoever has to let go of it: they go last, together. */
const lasting: ReadonlySet<string> = new Set([
  'core/namespaces',
  'apis.kcp.io/apibindings',
  'apiextensions.k8s.io/customresourcedefinitions',
  'rbac.authorization.k8s.io/clusterroles',
  'rbac.authorization.k8s.io/clusterrolebindings',
  'rbac.authorization.k8s.io/roles',
  'rbac.authorization.k8s.io/rolebindings',
]);

const ownResource = `${logicalClusters.group}/${logicalClusters.resource}`;
const pageSize = 2_000;

interface Found extends Entry {
  readonly resource: string;
  readonly object: KubeObject | undefined;
}

/** How often what arrives while a workspace ends is swept up. */
const sweeps = 5;

/**
 * Deletes everything in a workspace at once: one range of the store. Objects that somebody else has to let go of are marked and stay, and with them what they can be reached
 * through. The workspace itself goes last. While somebody has to do something before it ends, it is only marked.
 */
export async function purge(
  { store, objects }: { store: Store; objects: ObjectReader },
  { cluster, now }: { cluster: ClusterId; now: Date },
): Promise<Purged> {
  const everything = await contentOf(store, cluster);
  const own = everything.find(({ resource }) => resource === ownResource);
  if (own !== undefined && terminatorsIn(own).length > 0) {
    await mark(store, own, now);
    return { gone: false, remains: countOf([own]) };
  }
  const ownerless = ownerlessResources(objects, cluster);
  const held = everything.filter((found) => found !== own && holders(found, ownerless).length > 0);
  const free = everything.filter((found) => found !== own && !held.includes(found) && (held.length === 0 || !lasting.has(found.resource)));
  if (own !== undefined && held.length > 0) await mark(store, own, now);
  const removed = await Promise.all([...held.map((found) => mark(store, found, now)), ...free.map((found) => remove(store, found))]);
  if (held.length > 0 || removed.includes(false)) return { gone: false, remains: countOf(held) };
  if (own !== undefined && !(await end(store, own, now))) return { gone: false, remains: countOf([own]) };
  return { gone: await sweep(store, cluster), remains: countOf([]) };
}

/** Removes what was on its way while the workspace ended: nothing new can come after it. */
async function sweep(store: Store, cluster: ClusterId): Promise<boolean> {
  for (let times = 0; times < sweeps; times++) {
    const late = await contentOf(store, cluster);
    if (late.length === 0) return true;
    await Promise.all(late.map((found) => remove(store, found)));
  }
  return false;
}

/** Everything under the id of a workspace. */
async function contentOf(store: Store, cluster: ClusterId): Promise<Found[]> {
  const range = prefixRange(`/registry/${cluster}/`);
  const found: Found[] = [];
  for (let start = range.start; ; ) {
    const page = await store.list({ start, end: range.end }, { limit: pageSize });
    for (const entry of page.entries) found.push(describe(entry));
    if (page.remaining === 0) return found;
    start = `${page.entries.at(-1)!.key}\0`;
  }
}

/** Parsed only where it says that it has finalizers: most objects do not. */
function describe(entry: Entry): Found {
  const { resource } = parseStoreKey(entry.key);
  const isParsed = resource === ownResource || entry.value.includes('"finalizers":[');
  return { ...entry, resource, object: isParsed ? (JSON.parse(entry.value) as KubeObject) : undefined };
}

function holders({ object, resource }: Found, gone: ReadonlySet<string>): readonly string[] {
  if (object === undefined || gone.has(resource)) return [];
  return (object.metadata.finalizers ?? []).filter((finalizer) => !moot.has(finalizer));
}

/** Of the workspace's own object. */
function terminatorsIn({ object }: Found): readonly string[] {
  return (object as LogicalCluster | undefined)?.status?.terminators ?? [];
}

/** Says that it is being deleted; false when somebody changed it meanwhile. */
async function mark(store: Store, { key, object, revision }: Found, now: Date): Promise<boolean> {
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return true;
  return unlessChanged(store.update(key, storedText(marked(object, now)), revision));
}

function marked(object: KubeObject, now: Date): KubeObject {
  if (object.metadata.deletionTimestamp !== undefined) return object;
  const { generation } = object.metadata;
  const metadata = {
    ...object.metadata,
    ...(generation !== undefined && { generation: generation + 1 }),
    deletionTimestamp: formatTime(now),
    deletionGracePeriodSeconds: 0,
  };
  return { ...object, metadata };
}

function remove(store: Store, { key, revision }: Found): Promise<boolean> {
  return unlessChanged(store.delete(key, revision));
}

/** Lets go of the workspace's own object; true when nobody else holds it. */
async function end(store: Store, own: Found, now: Date): Promise<boolean> {
  const current = await store.get(own.key);
  if (current === undefined) return true;
  const object = JSON.parse(current.value) as KubeObject;
  const finalizers = (object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== contentFinalizer);
  if (finalizers.length === 0) return unlessChanged(store.delete(own.key, current.revision));
  const isEnding = object.metadata.deletionTimestamp !== undefined && finalizers.length === object.metadata.finalizers?.length;
  if (!isEnding) {
    const kept = marked({ ...object, metadata: { ...object.metadata, finalizers } }, now);
    await unlessChanged(store.update(own.key, storedText(kept), current.revision));
  }
  return false;
}

/** False when it was written by somebody else meanwhile: the next purge sees what they made of it. */
async function unlessChanged(write: Promise<number>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (error instanceof StoreError && (error.code === 'conflict' || error.code === 'missing')) return error.code === 'missing';
    throw error;
  }
}

function countOf(held: readonly Found[]): Remains {
  const resources: Record<string, number> = {};
  const finalizers: Record<string, number> = {};
  for (const { resource, object } of held) {
    const [group = '', name = ''] = resource.split('/');
    const identity = name.indexOf(':');
    const kind = `${identity < 0 ? name : name.slice(0, identity)}.${group === 'core' ? '' : group}`;
    resources[kind] = (resources[kind] ?? 0) + 1;
    for (const finalizer of object?.metadata.finalizers ?? [])
      if (!moot.has(finalizer)) finalizers[finalizer] = (finalizers[finalizer] ?? 0) + 1;
  }
  return { resources, finalizers };
}
