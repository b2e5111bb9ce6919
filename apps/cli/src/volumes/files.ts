import { randomBytes } from 'node:crypto';
import { posix } from 'node:path';
import { type GPUUnit, storageHelper, storageHelperRoot, storageSource } from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { Failure } from '../failure.ts';
import { placeOf } from '../units/copy.ts';
import { download } from '../units/copying/download.ts';
import { upload } from '../units/copying/upload.ts';
import { Progress } from '../units/progress.ts';
import { interrupted, onInterrupt } from '../units/signals.ts';
import { isOver, outcomeOf, phaseOf, progressOf } from '../units/state.ts';
import { RemoteCommand } from '../units/streams/command.ts';
import type { UnitPod } from '../units/streams/pod.ts';
import { openUnits, type UnitFlags, type Units } from '../units/units.ts';
import { watchUnit } from '../units/watch.ts';
import { findVolume } from './volumes.ts';

export interface FileFlags extends UnitFlags {
  readonly offering?: string;
  readonly continue?: boolean;
}

/** Copies a file or folder into a volume, or out of one. */
export async function copyVolume(from: string, to: string, flags: FileFlags): Promise<void> {
  const [source, target] = [placeOf(from), placeOf(to)];
  if ((source.unit === undefined) === (target.unit === undefined))
    throw new Failure(
      'usage',
      'expected one path here and one in a volume, such as: capstan volume cp ./dataset data:/, or: capstan volume cp data:/out .',
    );
  const name = (source.unit ?? target.unit)!;
  await withHelper(name, { ...flags, readOnly: target.unit === undefined }, async (pod, progress) => {
    const copying = { pod, progress, isContinued: flags.continue };
    if (target.unit === undefined) await download(copying, inVolume(source.path), target.path);
    else await upload(copying, source.path, inVolume(target.path));
  });
}

/** Lists files of a volume. Resolves with the exit code of `ls`. */
export async function listFiles(place: string, flags: FileFlags): Promise<number> {
  const { unit: name = place, path } = placeOf(place);
  return withHelper(name, { ...flags, readOnly: true }, async (pod) => {
    const command = ['ls', '-l', '-A', '--', inVolume(place.includes(':') ? path : '.')];
    const remote = await RemoteCommand.begin(pod, { command, stdin: false, stdout: true, stderr: true, tty: false });
    return (await remote.result).code;
  });
}

/** A path of the volume as the helper sees it. It cannot lead out of the volume. */
export function inVolume(path: string): string {
  return posix.join(storageHelperRoot, posix.join('/', path));
}

/** Runs a small unit that mounts the volume, and removes it afterwards. */
async function withHelper<T>(
  name: string,
  { readOnly, offering, ...flags }: FileFlags & { readonly readOnly: boolean },
  use: (pod: UnitPod, progress: Progress) => Promise<T>,
): Promise<T> {
  using units = openUnits(flags);
  const { status, spec } = await findVolume(units, name);
  if (status?.node === undefined && spec.node === undefined && storageSource(spec) === undefined && offering === undefined)
    throw new Failure(
      'usage',
      `${name} is on no node yet. Say on which nodes it will be used: --offering NAME takes one of that offering. Or create it with --node.`,
    );
  if (spec.snapshotOf !== undefined && !readOnly)
    throw new Failure(
      'usage',
      `${name} is a snapshot, and its files never change. Make a volume of it: capstan volume clone ${name} NAME.`,
    );
  const progress = new Progress();
  const unit = await units.resource.create(
    storageHelper(name, {
      namespace: units.namespace,
      id: randomBytes(3).toString('hex'),
      readOnly,
      offering: status?.node === undefined ? offering : undefined,
      maxDuration: '24h',
    }),
  );
  const helper = unit.metadata.name ?? '';
  const remove = async (): Promise<void> => {
    await units.resource.delete(helper).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  };
  using _ = onInterrupt(
    () => void remove().finally(() => process.exit(interrupted)),
    () => process.exit(interrupted),
  );
  try {
    await untilRunning(units, unit, progress);
    return await use({ units, name: helper }, progress);
  } finally {
    progress.clear();
    await remove();
    // So that the volume can be deleted by the next command.
    const signal = AbortSignal.timeout(10_000);
    for await (const _seen of watchUnit(units, { name: helper, uid: unit.metadata.uid, signal }));
  }
}

async function untilRunning(units: Units, { metadata: { name = '', uid } }: GPUUnit, progress: Progress): Promise<void> {
  for await (const seen of watchUnit(units, { name, uid })) {
    if (phaseOf(seen) === 'Running') return;
    if (isOver(seen)) throw new Failure('unexpected', `the unit that reads the volume has ended: ${outcomeOf(seen) ?? phaseOf(seen)}`);
    progress.show(progressOf(seen));
  }
  throw new Failure('unexpected', 'the unit that reads the volume was deleted.');
}
