import { type GPUUnit, gpuUnitKind } from '../compute/gpu-unit.ts';
import { newObject } from '../definition/define-kind.ts';

/** Where a helper sees its storage. */
export const storageHelperRoot = '/volume';

export interface StorageHelperOptions {
  readonly namespace: string;
  /** Makes its name unique. */
  readonly id: string;
  readonly readOnly: boolean;
  /** Chooses the node of a storage that has none yet. */
  readonly offering?: string | undefined;
  /** When it ends if its creator cannot end it. */
  readonly maxDuration: string;
}

/** A small unit that mounts a storage, so that a person can see its files. */
export function storageHelper(storage: string, { namespace, id, readOnly, offering, maxDuration }: StorageHelperOptions): GPUUnit {
  const metadata = { name: `volume-${storage.slice(0, 40).replace(/[-.]+$/, '')}-${id}`, namespace };
  const spec = {
    ...(offering === undefined ? { resources: { cpu: '100m', memory: '128Mi' } } : { offering }),
    command: ['sleep', '86400'],
    mounts: [{ storage, path: storageHelperRoot, readOnly }],
    network: 'None' as const,
    stopGrace: '0s',
    maxDuration,
  };
  return newObject(gpuUnitKind, { metadata, spec }) as GPUUnit;
}
