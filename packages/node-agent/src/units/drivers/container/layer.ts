import { chmod, chown, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '../../../disks/programs.ts';
import { closeSizedFolder, openSizedFolder, type SizeOptions, unmount } from '../../../disks/sized-folder.ts';
import { NoSpace } from '../../../disks/space.ts';
import { UnitProblem } from '../driver.ts';
import type { BoxState } from './dialect.ts';
import { readRecord, writeRecord } from './records.ts';

export type LayerOptions = SizeOptions;

const imageIn = (folder: string): string => join(folder, 'layer.image');

/**
 * Limits the layer of a container that was not started yet: its folder gets a size, and volumes of the image become folders in it. The engine mounts the layer at the
 * start, and finds the same files. Rejects with a UnitProblem.
 */
export async function limitLayer(
  folder: string,
  box: Pick<BoxState, 'layer' | 'volumes'> | undefined,
  options: LayerOptions,
): Promise<void> {
  const { layer: point, volumes = [] } = box ?? {};
  if (point === undefined)
    throw new UnitProblem('DriverUnavailable', 'the container engine does not say where the files of the container are');
  await writeRecord(folder, 'layer', { point, volumes });
  try {
    await openSizedFolder({ image: imageIn(folder), point }, options);
    for (const [index, volume] of volumes.entries()) await moveInto(join(point, 'volumes', String(index)), volume);
  } catch (error) {
    if (!(error instanceof NoSpace)) throw error;
    throw new UnitProblem('DiskFull', `the files of the container have no room: it ${error.message}`, { cause: error });
  }
}

/** Shows a folder at the place of a volume, with the same files. */
async function moveInto(place: string, volume: string): Promise<void> {
  const { mode, uid, gid } = await stat(volume);
  await mkdir(place, { recursive: true });
  await runProgram('cp', ['--archive', `${volume}/.`, place]);
  await chown(place, uid, gid);
  await chmod(place, mode & 0o7777);
  await runProgram('mount', ['--bind', place, volume]);
}

/** Deletes the files of a layer. The engine finds the folders as they were. Can be repeated. */
export async function closeLayer(folder: string): Promise<void> {
  const layer = await readRecord(folder, 'layer');
  if (layer === undefined) return;
  for (const volume of layer.volumes) await unmount(volume);
  await closeSizedFolder({ image: imageIn(folder), point: layer.point });
}
