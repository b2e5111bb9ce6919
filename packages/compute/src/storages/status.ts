import type { GPUStorageStatus, GPUUnit, NodeVolume, StoragePhase } from '@capstan/api';
import { type Condition, setCondition } from '@capstan/controller';
import { quotaExceeded } from '../units/mounts.ts';
import { nodeStateOf } from '../units/nodes.ts';
import { bytesOf } from './making.ts';
import { type Scene, usersOf } from './scene.ts';

/** All conditions of a storage. */
export type StorageCondition = 'Ready' | 'SizeEnforced' | 'InUse' | 'NodeReachable' | 'WithinQuota';

type Report = Pick<Condition, 'status' | 'reason' | 'message'>;

const mostWords = 4096;
const within: Report = { status: 'True', reason: 'Admitted', message: '' };
const mostNames = 64;

/** A storage that is on no node yet. */
export function waitingStatus(scene: Scene, message: string): GPUStorageStatus {
  return withConditions(scene, { phase: 'Pending', message }, { Ready: { status: 'False', reason: 'NotBound', message } });
}

/** A storage that would exceed a limit. */
export function refusedStatus(scene: Scene, message: string, place?: BoundPlace): GPUStorageStatus {
  const { node, volume, directory } = place ?? {};
  const status: GPUStorageStatus = {
    phase: 'Pending',
    message: message.slice(0, mostWords),
    ...(node !== undefined && { node }),
    ...(volume !== undefined && { volume }),
    ...(directory !== undefined && { directory }),
  };
  const report: Report = { status: 'False', reason: quotaExceeded, message };
  return withConditions(scene, status, { Ready: report, WithinQuota: report });
}

export interface BoundPlace {
  readonly node: string;
  readonly volume: string;
  /** The id of a shared directory. */
  readonly directory?: string | undefined;
}

/** Names the node, before anything is created there. */
export function boundStatus(
  scene: Scene,
  { node, volume, directory, message = `is being created on ${node}` }: BoundPlace & { readonly message?: string },
): GPUStorageStatus {
  return withConditions(
    scene,
    { phase: 'Pending', message, node, volume, ...(directory !== undefined && { directory }) },
    { Ready: { status: 'False', reason: 'Creating', message } },
  );
}

/** The summary of what its node has reported. */
export function volumeStatus(scene: Scene, volume: NodeVolume | undefined): GPUStorageStatus {
  const { storage } = scene;
  const { node = '', volume: name = '', directory } = storage.status ?? {};
  const state = nodeStateOf(scene.node(node));
  const { phase: there = 'Pending', message: words, capacityBytes, usedBytes, enforced, recoverable, takenAt } = volume?.status ?? {};
  const phase: StoragePhase = state.kind === 'lost' ? 'Failed' : there === 'Deleted' ? 'Failed' : there;
  const message =
    state.kind === 'lost'
      ? directory === undefined
        ? `node ${node} was lost, and its files with it`
        : `node ${node} was lost, and no other node has the shared directory`
      : state.kind === 'silent'
        ? `node ${node} has been silent since ${state.since}`
        : (words ??
          (phase === 'Ready' || phase === 'Resizing'
            ? directory === undefined
              ? `is on ${node}`
              : `is in the shared directory ${storage.spec.class}`
            : `is being created on ${node}`));
  const isReady = phase === 'Ready' || phase === 'Resizing';
  const asked = bytesOf(storage.spec.size);
  const refused = volume !== undefined && asked > volume.spec.size ? scene.refusal(asked, false) : undefined;
  const users = usersOf(scene).map(({ metadata }) => metadata.name ?? '');
  const status: GPUStorageStatus = {
    phase,
    message: (refused ?? message).slice(0, mostWords),
    node,
    volume: name,
    ...(directory !== undefined && { directory }),
    ...(capacityBytes !== undefined && { capacityBytes }),
    ...(usedBytes !== undefined && { usedBytes }),
    ...(users.length > 0 && { mountedBy: users.slice(0, mostNames) }),
    ...(takenAt !== undefined && { takenAt }),
    ...(recoverable === true && { recoverable }),
  };
  return withConditions(scene, status, {
    Ready: isReady ? { status: 'True', reason: phase, message: '' } : { status: 'False', reason: volume?.status?.reason ?? phase, message },
    WithinQuota: refused === undefined ? within : { status: 'False', reason: quotaExceeded, message: refused },
    InUse: inUse(users),
    NodeReachable:
      state.kind === 'heard'
        ? { status: 'True', reason: 'Heartbeat', message: '' }
        : { status: 'False', reason: state.kind === 'lost' ? 'Lost' : 'Silent', message },
    ...(enforced !== undefined && {
      SizeEnforced: enforced
        ? { status: 'True', reason: 'Enforced', message: '' }
        : { status: 'False', reason: 'NotEnforced', message: words ?? 'the node cannot limit it' },
    }),
  });
}

/** Units that mount it keep it. */
export function deletingStatus(scene: Scene, users: readonly GPUUnit[]): GPUStorageStatus {
  const names = users.map(({ metadata }) => metadata.name ?? '');
  const { node, mountedBy: _, recoverable: __, ...rest } = scene.storage.status ?? {};
  const message = names.length > 0 ? `is deleted when no unit mounts it: ${named(names)}` : `its files are being deleted on ${node}`;
  const status: GPUStorageStatus = {
    ...rest,
    ...(node !== undefined && { node }),
    phase: 'Deleting',
    message: message.slice(0, mostWords),
    ...(names.length > 0 && { mountedBy: names.slice(0, mostNames) }),
  };
  return withConditions(scene, status, { Ready: { status: 'False', reason: 'Deleting', message }, InUse: inUse(names) });
}

function inUse(names: readonly string[]): Report {
  return names.length > 0
    ? { status: 'True', reason: 'Mounted', message: `mounted by ${named(names)}` }
    : { status: 'False', reason: 'NotMounted', message: '' };
}

const named = (names: readonly string[]): string =>
  names.length > 5 ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more` : names.join(', ');

function withConditions(
  { storage, now }: Scene,
  status: GPUStorageStatus,
  reports: Partial<Record<StorageCondition, Report>>,
): GPUStorageStatus {
  const observedGeneration = storage.metadata.generation ?? 0;
  let conditions = (storage.status?.conditions ?? []) as readonly Condition[];
  for (const [type, report] of Object.entries(reports))
    conditions = setCondition(conditions, { type, ...report, observedGeneration }, new Date(now));
  return { ...status, observedGeneration, conditions } as GPUStorageStatus;
}
