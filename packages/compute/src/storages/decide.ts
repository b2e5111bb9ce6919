import { type GPUStorageStatus, localClass, type NodeVolume, nodeOfNamespace, storageSource } from '@capstan/api';
import { hasFinalizer } from '@capstan/controller';
import { type JsonObject, sameJson } from '@capstan/machinery';
import { nodeStateOf } from '../units/nodes.ts';
import { bytesOf, nodeVolumeFor } from './making.ts';
import { type Scene, usersOf, volumeOf } from './scene.ts';
import { anotherKeeper, sharedPlace } from './sharing.ts';
import { type BoundPlace, boundStatus, deletingStatus, refusedStatus, volumeStatus, waitingStatus } from './status.ts';

/** The next thing to do for a storage. Afterwards, or after a crash, everything is looked at again. */
export type Step =
  | { readonly kind: 'protect' }
  | { readonly kind: 'status'; readonly status: GPUStorageStatus }
  /** Ask the server whether the node has the NodeVolume. */
  | { readonly kind: 'look'; readonly node: string; readonly volume: string }
  | { readonly kind: 'create'; readonly volume: NodeVolume }
  | { readonly kind: 'change'; readonly volume: NodeVolume; readonly spec: JsonObject }
  | { readonly kind: 'remove'; readonly volume: NodeVolume }
  | { readonly kind: 'letGo' }
  | { readonly kind: 'wait' };

export const storageFinalizer = 'compute.capstan.dev/node-volume';

const wait: Step = { kind: 'wait' };

/** Decides the next step from the objects alone. */
export function decide(scene: Scene): Step {
  const { storage } = scene;
  if (storage.metadata.deletionTimestamp !== undefined) return hasFinalizer(storage, storageFinalizer) ? leave(scene) : wait;
  return storage.status?.node === undefined ? bind(scene) : keep(scene);
}

function report({ storage }: Scene, status: GPUStorageStatus): Step | undefined {
  return sameJson(storage.status ?? {}, status) ? undefined : { kind: 'status', status };
}

type Place = BoundPlace | { readonly problem: string };

/** Finds the node of a storage. It never changes afterwards. */
function bind(scene: Scene): Step {
  const place = placeOf(scene);
  // Before a unit gets an allocation for it.
  const refused = scene.refusal(bytesOf(scene.storage.spec.size), false);
  if (refused !== undefined) return report(scene, refusedStatus(scene, refused)) ?? wait;
  if ('problem' in place) return report(scene, waitingStatus(scene, place.problem)) ?? wait;
  // Before anything is created elsewhere.
  if (!hasFinalizer(scene.storage, storageFinalizer)) return { kind: 'protect' };
  return { kind: 'status', status: boundStatus(scene, place) };
}

function placeOf(scene: Scene): Place {
  const { storage, volumes, node } = scene;
  const { metadata, spec } = storage;
  if (spec.prepare?.image !== undefined && Object.keys(spec.prepare).length > 1)
    return { problem: 'spec.prepare: an image must be the only source of files' };
  const kept = volumes.find((one) => one.spec.retained && !one.spec.deleted);
  const keptClass = kept?.spec.directory?.name ?? localClass;
  if (kept !== undefined && keptClass !== spec.class)
    return { problem: `spec.class: the files of this name were retained with the class ${keptClass}` };
  const keptOn = kept && nodeOfNamespace(kept.metadata.namespace ?? '');
  if (keptOn !== undefined) {
    if (spec.node !== undefined && spec.node !== keptOn) return { problem: `spec.node: the files of this name were retained on ${keptOn}` };
    return { node: keptOn, volume: kept!.metadata.name ?? '', directory: kept!.spec.directory?.id };
  }
  const volume = metadata.uid ?? '';
  if (spec.class !== localClass) return sharedPlace(scene, volume);
  const source = sourceOf(scene);
  if ('problem' in source) return source;
  if (source.node !== undefined) {
    const { node: there, name: from } = source;
    if (spec.node !== undefined && spec.node !== there)
      return { problem: `spec.node: the storage ${from}, whose files are to be copied, is on ${there}` };
    return { node: there, volume };
  }
  if (spec.node !== undefined)
    return node(spec.node) === undefined ? { problem: `spec.node: there is no node ${spec.node}` } : { node: spec.node, volume };
  const first = firstPlace(scene);
  return first === undefined ? { problem: 'waits for the first unit that mounts it' } : { node: first, volume };
}

type Source =
  | { readonly problem: string }
  | { readonly node: string; readonly volume: string; readonly name: string }
  /** It begins without the files of another. */
  | { readonly node?: undefined; readonly volume?: undefined };

/** The storage that is to be copied. Nothing is created without it: an empty storage would look complete. */
function sourceOf({ storage, sibling }: Scene): Source {
  const source = storageSource(storage.spec);
  if (source === undefined) return {};
  const { name, field } = source;
  const found = sibling(name);
  if (found === undefined) return { problem: `${field}: there is no GPUStorage ${name} in this namespace` };
  if (found.spec.class !== localClass)
    return { problem: `${field}: ${name} is in a shared directory, and only storages of the class ${localClass} can be copied` };
  const isSnapshot = found.spec.snapshotOf !== undefined;
  if (isSnapshot && storage.spec.snapshotOf !== undefined) return { problem: `${field}: ${name} is a snapshot itself` };
  if (!isSnapshot && storage.spec.prepare?.snapshot !== undefined) return { problem: `${field}: ${name} is not a snapshot` };
  const { node, volume } = found.status ?? {};
  if (node === undefined || volume === undefined) return { problem: `${field}: the storage ${name} is on no node yet` };
  return { node, volume, name };
}

/** The node of the first unit that mounts it and has an allocation. */
function firstPlace({ units, allocation }: Scene): string | undefined {
  for (const unit of units) {
    const { metadata, status } = allocation(unit) ?? {};
    if (metadata?.deletionTimestamp === undefined && status?.phase === 'Active' && status.parts?.length === 1) return status.parts[0]!.node;
  }
  return undefined;
}

function keep(scene: Scene): Step {
  const { storage } = scene;
  if (!hasFinalizer(storage, storageFinalizer)) return { kind: 'protect' };
  const volume = volumeOf(scene);
  const { node = '', volume: name = '', directory } = storage.status ?? {};
  const keeper = anotherKeeper(scene);
  if (keeper !== undefined) return { kind: 'status', status: boundStatus(scene, { node: keeper, volume: name, directory }) };
  if (volume === undefined) {
    if (nodeStateOf(scene.node(node)).kind === 'lost') return report(scene, volumeStatus(scene, undefined)) ?? wait;
    if (!scene.isAbsent) return { kind: 'look', node, volume: name };
    const source = sourceOf(scene);
    if ('problem' in source) return report(scene, boundStatus(scene, { node, volume: name, directory, message: source.problem })) ?? wait;
    const refused = scene.refusal(bytesOf(storage.spec.size), true);
    if (refused !== undefined) return report(scene, refusedStatus(scene, refused, { node, volume: name, directory })) ?? wait;
    return { kind: 'create', volume: nodeVolumeFor(storage, { source: source.volume, path: scene.path }) };
  }
  const changes = changesOf(scene, volume);
  if (changes !== undefined) return { kind: 'change', volume, spec: changes };
  return report(scene, volumeStatus(scene, volume)) ?? wait;
}

/** The size only grows, also if a storage takes over a volume that was larger. */
function changesOf({ storage, refusal }: Scene, { spec }: NodeVolume): JsonObject | undefined {
  const asked = bytesOf(storage.spec.size);
  const size = asked > spec.size && refusal(asked, true) === undefined ? asked : spec.size;
  const { uid = '' } = storage.metadata;
  const changes: JsonObject = {
    ...(size > spec.size && { size }),
    ...(storage.spec.recover > spec.recover && { recover: storage.spec.recover }),
    ...(spec.owner.uid !== uid && { owner: { uid } }),
    ...(spec.retained && { retained: false }),
  };
  return Object.keys(changes).length === 0 ? undefined : changes;
}

/** Deletes the files, and waits only for units, and for nodes that can be heard. */
function leave(scene: Scene): Step {
  const { storage } = scene;
  const users = usersOf(scene);
  if (users.length > 0) return report(scene, deletingStatus(scene, users)) ?? wait;
  const volume = volumeOf(scene);
  const { node, volume: name = '', directory, phase } = storage.status ?? {};
  // Another node deletes the files of a shared directory.
  const keeper = anotherKeeper(scene);
  if (keeper !== undefined) return { kind: 'status', status: boundStatus(scene, { node: keeper, volume: name, directory }) };
  if (volume === undefined && directory !== undefined && phase === 'Pending' && scene.isAbsent)
    return { kind: 'create', volume: nodeVolumeFor(storage, { path: scene.path }) };
  if (volume === undefined) return node === undefined || scene.isAbsent ? { kind: 'letGo' } : { kind: 'look', node, volume: name };
  if (storage.spec.deletionPolicy === 'Retain')
    return volume.spec.retained ? { kind: 'letGo' } : { kind: 'change', volume, spec: { retained: true } };
  if (!volume.spec.deleted) return { kind: 'change', volume, spec: { deleted: true } };
  const state = nodeStateOf(scene.node(nodeOfNamespace(volume.metadata.namespace ?? '') ?? ''));
  if (volume.status?.phase === 'Deleted' || state.kind === 'lost') return { kind: 'remove', volume };
  // The platform deletes it when the node is back.
  if (state.kind === 'silent') return { kind: 'letGo' };
  return report(scene, deletingStatus(scene, [])) ?? wait;
}
