import { type NodeVolume, nodeVolumeKind } from '@capstan/api';
import { type CountedObject, measuring, type QuotaAmount } from '@capstan/fleet';

const measured = measuring(nodeVolumeKind);

/** The amounts that a volume of a size will count. */
export const storageAmount = (bytes: number): QuotaAmount => ({ storage: bytes });

/** A volume with what it counts. */
export function countedVolume(volume: NodeVolume): CountedObject {
  const { path, cluster } = volume.spec.owner;
  return { id: volume.metadata.name ?? '', path: path ?? cluster, amount: measured(volume) };
}
