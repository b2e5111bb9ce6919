import { type GPUStorage, type GPUStorageSpec, localClass } from '../compute/gpu-storage.ts';

/** The fields of a storage that a person or a program writes. */
type NewSpec = Partial<GPUStorageSpec> & Pick<GPUStorageSpec, 'size'>;

/** A name for a snapshot that sorts by time. */
export function snapshotName(storage: string, now: Date): string {
  const time = now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  return `${storage.slice(0, 200)}-${time}`;
}

/** A snapshot of a storage, as large as the storage. */
export const snapshotSpec = ({ metadata, spec }: GPUStorage): NewSpec => ({ size: spec.size, snapshotOf: { name: metadata.name ?? '' } });

/** A storage with the files of another one, or of a snapshot, and as large. */
export function cloneSpec({ metadata, spec }: GPUStorage): NewSpec {
  const source = { name: metadata.name ?? '' };
  return { size: spec.size, prepare: spec.snapshotOf === undefined ? { storage: source } : { snapshot: source } };
}

/** Whether a storage can be cloned: those in shared directories cannot, because units on other nodes may write at any time. */
export const isCloneable = ({ spec, status }: GPUStorage): boolean => spec.class === localClass && status?.node !== undefined;

/** The same for snapshots, which have none of their own. */
export const isSnapshottable = (storage: GPUStorage): boolean => isCloneable(storage) && storage.spec.snapshotOf === undefined;
