import { type GPUStorage, type GPUStorageSpec, gpuStorageKind, newObject } from '@capstan/api';
import { isNotFound, type Resource } from '@capstan/client';
import { Failure } from '../failure.ts';
import { tellTrouble } from '../following.ts';
import { type Column, printList, printNames, printOne } from '../output.ts';
import { isOver } from '../units/state.ts';
import { openUnits, type UnitFlags, type UnitOutputFlags, type Units } from '../units/units.ts';
import { watchObject } from '../units/watch.ts';
import { formatBytes } from '../units/words.ts';
import { onceServed } from '../workspaces/once-served.ts';

export interface CreateFlags extends UnitOutputFlags {
  readonly size: string;
  readonly class?: string;
  readonly node?: string;
  readonly copyOf?: string;
  readonly snapshot?: string;
  readonly url?: string;
  readonly image?: string;
  readonly sha256?: string;
  readonly unpack?: 'tar' | 'tar-gzip';
  readonly retain?: boolean;
}

const bytes = (value: number | undefined): string | undefined => (value === undefined ? undefined : formatBytes(value));

const table: readonly Column<GPUStorage>[] = [
  { name: 'NAME', value: ({ metadata }) => metadata.name },
  { name: 'SIZE', value: ({ spec }) => spec.size },
  { name: 'USED', value: ({ status }) => bytes(status?.usedBytes) },
  {
    name: 'PHASE',
    value: ({ metadata, status }) => (metadata.deletionTimestamp === undefined ? (status?.phase ?? 'Pending') : 'Deleting'),
  },
  { name: 'NODE', value: ({ status }) => status?.node },
  { name: 'UNITS', value: ({ status }) => status?.mountedBy?.join(',') },
  { name: 'MESSAGE', value: ({ status }) => status?.message },
  { name: 'SNAPSHOT OF', value: ({ spec }) => spec.snapshotOf?.name, isWide: true },
  { name: 'TAKEN', value: ({ status }) => status?.takenAt, isWide: true },
  { name: 'CAPACITY', value: ({ status }) => bytes(status?.capacityBytes), isWide: true },
  { name: 'VOLUME', value: ({ status }) => status?.volume, isWide: true },
];

const write = (line: string): void => void process.stdout.write(`${line}\n`);
export const storagesOf = ({ client, namespace }: Units): Resource<GPUStorage> => client.resource<GPUStorage>(gpuStorageKind).in(namespace);

export async function createVolume(name: string, flags: CreateFlags): Promise<void> {
  using units = openUnits(flags);
  const metadata = { name, namespace: units.namespace };
  const storage = newObject(gpuStorageKind, { metadata, spec: specOf(flags) as GPUStorageSpec }) as GPUStorage;
  const made = await onceServed({ client: units.client, kind: gpuStorageKind }, () => storagesOf(units).create(storage));
  showStorage(made, flags);
}

/** The spec that flags describe. */
export function specOf({
  size,
  class: name,
  node,
  copyOf,
  snapshot,
  url,
  image,
  sha256,
  unpack,
  retain,
}: CreateFlags): Partial<GPUStorageSpec> {
  if ([copyOf, snapshot, url, image].filter((one) => one !== undefined).length > 1)
    throw new Failure('usage', 'the first files of a volume come from one place: give one of --copy-of, --snapshot, --url and --image.');
  if ((url === undefined) !== (sha256 === undefined))
    throw new Failure('usage', '--url and --sha256 belong together: nodes check what they download.');
  const how = unpack === undefined ? 'None' : unpack === 'tar' ? 'Tar' : 'TarGzip';
  return {
    size,
    ...(name !== undefined && { class: name }),
    ...(node !== undefined && { node }),
    ...(copyOf !== undefined && { prepare: { storage: { name: copyOf } } }),
    ...(image !== undefined && { prepare: { image } }),
    ...(snapshot !== undefined && { prepare: { snapshot: { name: snapshot } } }),
    ...(url !== undefined && sha256 !== undefined && { prepare: { url: { url, sha256, unpack: how } } }),
    ...(retain === true && { deletionPolicy: 'Retain' as const }),
  };
}

export async function listVolumes(flags: UnitOutputFlags): Promise<void> {
  using units = openUnits(flags);
  const { items } = await storagesOf(units).list();
  const { output } = flags;
  if (output === 'name') return printNames(items, 'gpustorage');
  printList(items, { output, table, empty: 'No volumes. Create one with "capstan volume create <name> --size 100Gi".' });
}

export async function showVolume(name: string, flags: UnitOutputFlags): Promise<void> {
  using units = openUnits(flags);
  showStorage(await findVolume(units, name), flags);
}

export async function resizeVolume(name: string, size: string, flags: UnitOutputFlags): Promise<void> {
  using units = openUnits(flags);
  await findVolume(units, name);
  showStorage(await storagesOf(units).patch(name, { type: 'merge', patch: { spec: { size } } }), flags);
}

export async function recoverVolume(name: string, flags: UnitOutputFlags): Promise<void> {
  using units = openUnits(flags);
  const { spec } = await findVolume(units, name);
  const patch = { spec: { recover: spec.recover + 1 } };
  showStorage(await storagesOf(units).patch(name, { type: 'merge', patch }), flags);
}

export async function removeVolumes(names: readonly string[], { wait, ...flags }: UnitFlags & { readonly wait: boolean }): Promise<void> {
  using units = openUnits(flags);
  for (const name of names) {
    const { metadata, status } = await findVolume(units, name);
    const users = await liveOf(units, status?.mountedBy ?? []);
    if (users.length > 0)
      throw new Failure('usage', `${name} is mounted by ${users.join(', ')}. Stop it first: capstan stop ${users.join(' ')}`);
    await storagesOf(units).delete(name);
    if (wait) for await (const _ of watchObject(storagesOf(units), { name, uid: metadata.uid, onTrouble: tellTrouble }));
    write(`${name}: ${wait ? 'deleted' : 'deleting'}`);
  }
}

/** The units of these names that have not ended: the status of a volume may be a moment behind. */
async function liveOf(units: Units, names: readonly string[]): Promise<string[]> {
  const { items } = names.length === 0 ? { items: [] } : await units.resource.list();
  const live = new Set(items.filter((unit) => !isOver(unit)).map(({ metadata }) => metadata.name));
  return names.filter((name) => live.has(name));
}

export function showStorage(storage: GPUStorage, { output }: UnitOutputFlags): void {
  if (output === 'name') printNames([storage], 'gpustorage');
  else printOne(storage, { output, table });
}

export async function findVolume(units: Units, name: string): Promise<GPUStorage> {
  try {
    return await storagesOf(units).get(name);
  } catch (error) {
    if (isNotFound(error)) throw new Failure('usage', `there is no volume ${name} here; "capstan volume list" lists all.`, error);
    throw error;
  }
}
