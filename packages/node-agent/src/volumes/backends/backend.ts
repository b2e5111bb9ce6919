export interface VolumeUsage {
  readonly capacityBytes: number;
  readonly usedBytes: number;
}

export interface OpenOptions {
  /** Risks more than what is usual after a crash. */
  readonly repair: boolean;
  readonly readOnly: boolean;
}

export interface SnapshotOptions {
  /** In bytes: how large it may become. */
  readonly limit: number;
  /** Nobody uses the source. */
  readonly isIdle: boolean;
  readonly signal: AbortSignal;
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
  /** Whether the volume was created, or its snapshot taken. */
  exists(folder: string): Promise<boolean>;
  /** Copies the files of the volume in another folder, which is open, as they are at one moment. Nothing exists in the folder yet, or a part of a copy. */
  snapshot(source: string, folder: string, options: SnapshotOptions): Promise<void>;
  /** Makes the files reachable, and returns the folder that has them. */
  open(folder: string, options: OpenOptions): Promise<string>;
  /** Makes the room larger, while it is in use if it must. Nobody uses it if `isIdle`. */
  grow(folder: string, size: number, options: { readonly isIdle: boolean }): Promise<void>;
  usage(folder: string): Promise<VolumeUsage>;
  /** Removes everything but the folder itself. */
  remove(folder: string): Promise<void>;
}

export type BackendName = 'project' | 'loop' | 'folder' | 'shared';
