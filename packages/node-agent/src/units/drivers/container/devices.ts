import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { UnitRoom } from '../driver.ts';
import { presentDeviceFiles } from '../exec/spec.ts';

/** Where vendors' tools, such as `nvidia-ctk cdi generate`, describe devices for the Container Device Interface. */
const folders = ['/etc/cdi', '/var/run/cdi'];
const kinds = { nvidia: 'nvidia.com/gpu', amd: 'amd.com/gpu', declared: undefined } as const;

/** How the engine gives GPUs by name: those that files in these folders describe, all of NVIDIA, or none. */
export type GpuNames = { readonly folders: readonly string[] } | 'nvidia' | 'none';

export const describedGpus: GpuNames = { folders };

/**
 * The devices of a unit: by the name that the node's description has for them, which brings libraries and tools of the driver with it, or as files.
 * Rejects with a UnitProblem if a file does not exist.
 */
export async function boxDevices(room: UnitRoom, names: GpuNames): Promise<string[]> {
  if (room.devices.length === 0) return [];
  const files = await presentDeviceFiles(room);
  const descriptions = typeof names === 'string' ? [] : await readAll(names.folders);
  const named = room.devices.map(({ vendor, uuid }) => {
    const kind = kinds[vendor];
    const isNamed =
      names === 'nvidia' ? vendor === 'nvidia' : descriptions.some((text) => kind !== undefined && describes(text, kind, uuid));
    return isNamed ? `${kind}=${uuid}` : undefined;
  });
  // All or none: files of one GPU beside names of another would bring the shared files twice.
  return named.every((name) => name !== undefined) ? named : files;
}

/** Whether a description, in YAML or JSON, has a device of this kind and name. */
function describes(text: string, kind: string, name: string): boolean {
  const hasWord = (word: string): boolean =>
    new RegExp(`[\\s"':]${word.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')}["',\\s]`).test(`${text}\n`);
  return hasWord(kind) && hasWord(name);
}

async function readAll(from: readonly string[]): Promise<string[]> {
  const texts = await Promise.all(
    from.map(async (folder) => {
      const names = (await readdir(folder).catch(() => [])).filter((name) => /\.(ya?ml|json)$/.test(name));
      return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8').catch(() => '')));
    }),
  );
  return texts.flat();
}
