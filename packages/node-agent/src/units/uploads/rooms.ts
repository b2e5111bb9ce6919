import { chmod, mkdir, rm } from 'node:fs/promises';
import { closeSizedFolder, openSizedFolder, type SizeOptions } from '../../disks/sized-folder.ts';
import { uploadRoom, uploadsIn } from '../engine/removal.ts';

export interface UploadRoomsOptions {
  /** The folder of a unit. */
  readonly folder: (name: string) => string;
  /** Undefined if folders cannot have sizes here: there is nothing to make then. */
  readonly size: SizeOptions | undefined;
}

/** Makes the folders of uploads while clients learn that their units wait for files: making a file system takes longer than a few files take to arrive. */
export class UploadRooms implements AsyncDisposable {
  readonly #options: UploadRoomsOptions;
  /** Whether it was possible, for units whose files have not come yet. */
  readonly #made = new Map<string, Promise<boolean>>();

  constructor(options: UploadRoomsOptions) {
    this.#options = options;
  }

  /** The unit waits for files. Doing so again changes nothing. */
  begin(name: string): void {
    const { folder, size } = this.#options;
    if (size === undefined || this.#made.has(name)) return;
    const made = openUploadRoom(folder(name), size).then(
      () => true,
      () => false,
    );
    this.#made.set(name, made);
  }

  /** Whether there is an empty folder, which belongs to the caller from now on. */
  async take(name: string): Promise<boolean> {
    const made = this.#made.get(name);
    this.#made.delete(name);
    return (await made) === true;
  }

  /** Resolves when nothing is being made for the unit any more. */
  async end(name: string): Promise<void> {
    await this.take(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#made.values());
  }
}

/** Makes an empty folder for uploads with a size of its own, whatever was there before. */
export async function openUploadRoom(folder: string, size: SizeOptions): Promise<void> {
  await closeSizedFolder(uploadRoom(folder));
  await rm(uploadsIn(folder), { recursive: true, force: true });
  await makeFolder(uploadsIn(folder));
  await openSizedFolder(uploadRoom(folder), size);
}

export async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o755);
}
