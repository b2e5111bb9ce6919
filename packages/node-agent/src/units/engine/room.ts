import type { GpuInventory, GpuStatus, NodeUnitSpec, SharedDirectory, UnitOwner } from '@capstan/api';
import { type RoomDevice, type RoomMount, UnitProblem, type UnitRoom } from '../drivers/driver.ts';
import type { UnitRecord } from '../records/record.ts';
import type { UnitSecrets } from '../secrets/store.ts';

/** Where storages are on this node. */
export interface StorageFolders {
  /** Undefined if the owner has no such storage on this node, or if it cannot be used in this way at the moment. */
  pathOf(
    uid: string,
    owner: Pick<UnitOwner, 'cluster' | 'namespace'>,
    access: { readonly readOnly: boolean; readonly directory?: SharedDirectory | undefined },
  ): Promise<string | undefined>;
}

/** The GPUs of this machine. */
export interface DeviceSource {
  status(): readonly GpuStatus[];
  inventories(): readonly GpuInventory[];
}

export interface RoomSources {
  readonly secrets: UnitSecrets | undefined;
  readonly devices: DeviceSource;
  readonly storages: StorageFolders;
  /** The folder with uploaded files. */
  readonly uploads: string;
}

/** The port at which the programs of a gang meet, unless they say another. */
const meetingPort = '29500';
const longestHostname = 63;

/** Everything that a driver needs to run a unit. Rejects with a UnitProblem if something is missing. */
export async function resolveRoom({ name, spec, uploaded }: UnitRecord, sources: RoomSources): Promise<UnitRoom> {
  const { secrets, devices, storages, uploads } = sources;
  return {
    id: name,
    allocation: spec.allocation,
    hostname: hostnameOf(spec),
    ...(spec.image !== undefined && { image: spec.image }),
    ...(secrets?.pullConfig !== undefined && { pullConfig: secrets.pullConfig }),
    ...wordsOf(spec),
    environment: { ...ownVariables(spec), ...literals(spec), ...secrets?.env },
    ...(spec.workingDirectory !== undefined && { workingDirectory: spec.workingDirectory }),
    ...(uploaded && { uploads }),
    mounts: await mountsOf(spec, storages),
    network: spec.network,
    tty: spec.tty,
    cpu: spec.cpu,
    memory: spec.memory,
    devices: spec.devices.map((uuid) => deviceOf(uuid, devices)),
  };
}

/** Arguments without a command are for the program of the image. */
function wordsOf({ image, command, args = [] }: NodeUnitSpec): Pick<UnitRoom, 'command' | 'args'> {
  return image !== undefined && command === undefined ? { command: [], args } : { command: [...(command ?? []), ...args] };
}

function hostnameOf({ owner, rank, peers = [] }: NodeUnitSpec): string {
  const name = owner.name.replaceAll('.', '-');
  const suffix = peers.length > 1 ? `-${rank}` : '';
  return `${name.slice(0, longestHostname - suffix.length).replace(/-+$/, '')}${suffix}`;
}

/** Tells a program its place among the nodes of the unit, also in the variables that torchrun reads in place of its options. */
function ownVariables({ owner, rank, peers = [], devices }: NodeUnitSpec): Record<string, string> {
  const nodes = Math.max(1, peers.length);
  const own = { CAPSTAN_UNIT_NAME: owner.name, CAPSTAN_RANK: String(rank), CAPSTAN_NODES: String(nodes) };
  const first = peers.find((peer) => peer.rank === 0)?.address;
  if (nodes === 1 || first === undefined) return own;
  return {
    ...own,
    MASTER_ADDR: first,
    MASTER_PORT: meetingPort,
    PET_NNODES: String(nodes),
    PET_NODE_RANK: String(rank),
    PET_MASTER_ADDR: first,
    PET_MASTER_PORT: meetingPort,
    PET_NPROC_PER_NODE: String(Math.max(1, devices.length)),
  };
}

function literals({ env = [] }: NodeUnitSpec): Record<string, string> {
  return Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
}

async function mountsOf({ mounts = [], storages = [], owner }: NodeUnitSpec, folders: StorageFolders): Promise<RoomMount[]> {
  return Promise.all(
    mounts.map(async ({ storage, path, readOnly }) => {
      const { uid, directory } = storages.find((one) => one.storage === storage) ?? {};
      const source = uid === undefined ? undefined : await folders.pathOf(uid, owner, { readOnly, directory });
      if (source === undefined) throw new UnitProblem('StorageUnavailable', `the storage ${storage} is not on this node, or is not ready`);
      return { source, path, readOnly, ...(directory && { isShared: true }) };
    }),
  );
}

function deviceOf(uuid: string, devices: DeviceSource): RoomDevice {
  const card = devices.status().find((one) => one.uuid === uuid || one.gpu?.mig.devices.some((device) => device.uuid === uuid));
  if (card?.gpu === undefined) throw new UnitProblem('DeviceUnavailable', `the node does not see the GPU ${uuid}`);
  const { state, message } = card.health;
  if (state === 'Failed' || state === 'Missing') throw new UnitProblem('DeviceUnavailable', message);
  const vendor = devices.inventories().find(({ gpus }) => gpus.some((one) => one.uuid === card.uuid))?.source;
  if (vendor === undefined) throw new UnitProblem('DeviceUnavailable', `the node does not see the GPU ${card.uuid} at the moment`);
  return { uuid, vendor, files: card.gpu.deviceFiles };
}
