import { chmod, chown, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '../../../disks/programs.ts';
import { closeSizedFolder, discardSized, type SizeOptions, sizeLater, unmount } from '../../../disks/sized-folder.ts';
import { NoSpace } from '../../../disks/space.ts';
import { UnitProblem } from '../driver.ts';
import type { BoxState } from './dialect.ts';
import { readRecord, writeRecord } from './records.ts';

export type LayerOptions = SizeOptions;

const imageIn = (folder: string): string => join(folder, 'layer.image');

/**
 * Limits the layer of a container that is being created and was not started yet: its folder gets a size, and volumes of the image become folders in it. The engine mounts the
 * layer at the start, and finds the same files. Rejects with a UnitProblem, and if the container cannot be created.
 */
export async function limitLayer(
  folder: string,
  box: Promise<Pick<BoxState, 'layer' | 'volumes'> | undefined>,
  options: LayerOptions,
): Promise<void> {
  const recorded = box.then((found) => recordLayer(folder, found));
  try {
    await sizeLater(
      imageIn(folder),
      recorded.then(({ point }) => point),
      options,
    );
    const { point, volumes } = await recorded;
    for (const [index, volume] of volumes.entries()) await moveInto(join(point, 'volumes', String(index)), volume);
  } catch (error) {
    // A container that cannot be created is the reason for everything else, and its record must not come later.
    await recorded;
    if (!(error instanceof NoSpace)) throw error;
    throw new UnitProblem('DiskFull', `the files of the container have no room: it ${error.message}`, { cause: error });
  }
}

async function recordLayer(
  folder: string,
  box: Pick<BoxState, 'layer' | 'volumes'> | undefined,
): Promise<{ readonly point: string; readonly volumes: readonly string[] }> {
  const { layer: point, volumes = [] } = box ?? {};
  if (point === undefined)
    throw new UnitProblem('DriverUnavailable', 'the container engine does not say where the files of the container are');
  await writeRecord(folder, 'layer', { point, volumes });
  return { point, volumes };
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
  if (layer === undefined) return discardSized(imageIn(folder));
  for (const volume of layer.volumes) await unmount(volume);
  await closeSizedFolder({ image: imageIn(folder), point: layer.point });
}
