import { cloneSpec, type GPUStorage, type GPUStorageSpec, gpuStorageKind, newObject, snapshotName, snapshotSpec } from '@capstan/api';
import { Failure } from '../failure.ts';
import { type Column, printList, printNames } from '../output.ts';
import { openUnits, type UnitOutputFlags, type Units } from '../units/units.ts';
import { watchObject } from '../units/watch.ts';
import { formatBytes } from '../units/words.ts';
import { findVolume, showStorage, storagesOf } from './volumes.ts';

export interface SnapshotFlags extends UnitOutputFlags {
  readonly size?: string;
  readonly retain?: boolean;
  readonly wait: boolean;
}

const table: readonly Column<GPUStorage>[] = [
  { name: 'NAME', value: ({ metadata }) => metadata.name },
  { name: 'OF', value: ({ spec }) => spec.snapshotOf?.name },
  { name: 'TAKEN', value: ({ status }) => status?.takenAt },
  { name: 'USED', value: ({ status }) => (status?.usedBytes === undefined ? undefined : formatBytes(status.usedBytes)) },
  { name: 'SIZE', value: ({ spec }) => spec.size },
  { name: 'PHASE', value: ({ status }) => status?.phase ?? 'Pending' },
  { name: 'NODE', value: ({ status }) => status?.node },
  { name: 'MESSAGE', value: ({ status }) => status?.message },
];

/** Takes a snapshot of a volume, and waits until it is there. */
export async function takeSnapshot(volume: string, given: string | undefined, flags: SnapshotFlags): Promise<void> {
  using units = openUnits(flags);
  const storage = await findVolume(units, volume);
  if (storage.spec.snapshotOf !== undefined)
    throw new Failure('usage', `${volume} is a snapshot itself. Make a volume of it: capstan volume clone.`);
  if (storage.status?.volume === undefined)
    throw new Failure(
      'usage',
      `${volume} has no files yet: a volume gets its place with the first unit that mounts it (capstan run --volume ${volume}:/data -- COMMAND).`,
    );
  const name = given ?? snapshotName(volume, new Date());
  const made = await create(units, name, { ...snapshotSpec(storage), ...wishesOf(flags) });
  showStorage(flags.wait ? await untilTaken(units, made) : made, flags);
}

/** Makes a volume with the files of another one, or of a snapshot. */
export async function cloneVolume(source: string, name: string, flags: Omit<SnapshotFlags, 'wait'>): Promise<void> {
  using units = openUnits(flags);
  const storage = await findVolume(units, source);
  const made = await create(units, name, { ...cloneSpec(storage), ...wishesOf(flags) });
  showStorage(made, flags);
}

export async function listSnapshots(volume: string | undefined, flags: UnitOutputFlags): Promise<void> {
  using units = openUnits(flags);
  const all = (await storagesOf(units).list()).items;
  const items = all.filter(({ spec }) => (volume === undefined ? spec.snapshotOf !== undefined : spec.snapshotOf?.name === volume));
  if (flags.output === 'name') return printNames(items, 'gpustorage');
  printList(items, { output: flags.output, table, empty: 'No snapshots. Take one with "capstan volume snapshot <volume>".' });
}

const wishesOf = ({ size, retain }: Pick<SnapshotFlags, 'size' | 'retain'>): Partial<GPUStorageSpec> => ({
  ...(size !== undefined && { size }),
  ...(retain === true && { deletionPolicy: 'Retain' }),
});

const create = (units: Units, name: string, spec: Partial<GPUStorageSpec> & Pick<GPUStorageSpec, 'size'>): Promise<GPUStorage> =>
  storagesOf(units).create(newObject(gpuStorageKind, { metadata: { name, namespace: units.namespace }, spec }) as GPUStorage);

async function untilTaken(units: Units, made: GPUStorage): Promise<GPUStorage> {
  const { name = '' } = made.metadata;
  let last: string | undefined;
  for await (const storage of watchObject(storagesOf(units), { name, from: made })) {
    const { phase, message } = storage.status ?? {};
    if (phase === 'Ready') return storage;
    if (phase === 'Failed')
      throw new Failure('unexpected', `the snapshot ${name} could not be taken: ${message ?? 'see "capstan volume show"'}`);
    if (message !== undefined && message !== last) process.stderr.write(`${message}\n`);
    last = message;
  }
  throw new Failure('unexpected', `the snapshot ${name} was deleted.`);
}
