export interface VolumeUsage {
  readonly capacityBytes: number;
  readonly usedBytes: number;
}

/**
 * A way to keep the files of a volume in a folder of its own. Every step can be repeated, also after a crash in the middle of it. All reject with a
 * VolumeProblem.
 */
export interface VolumeBackend {
  readonly name: BackendName;
  /** Why programs can use more than the size; undefined if they cannot. */
  readonly unlimited: string | undefined;
  /** Makes room for so many bytes. Changes nothing if there is room already. */
  create(folder: string, size: number): Promise<void>;
  /** Makes the files reachable, and returns the folder that has them. `repair` risks more than what is usual after a crash. */
  open(folder: string, options: { readonly repair: boolean }): Promise<string>;
  /** Makes the room larger, while it is in use if it must. Nobody uses it if `isIdle`. */
  grow(folder: string, size: number, options: { readonly isIdle: boolean }): Promise<void>;
  usage(folder: string): Promise<VolumeUsage>;
  /** Removes everything but the folder itself. */
  remove(folder: string): Promise<void>;
}

export type BackendName = 'loop' | 'folder';
