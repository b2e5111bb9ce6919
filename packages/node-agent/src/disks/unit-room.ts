import { type SizeOptions, whyNoSizes } from './sized-folder.ts';
import { spareOf } from './space.ts';

/** In bytes: how large the folders of units are by default. */
export const usualRoom = 20 * 2 ** 30;

/** How large the folders of a unit become that are on the disk of the node; undefined if this machine cannot limit them. */
export async function unitRoom(size = usualRoom): Promise<SizeOptions | undefined> {
  return (await whyNoSizes()) === undefined ? { size, spare: spareOf } : undefined;
}
