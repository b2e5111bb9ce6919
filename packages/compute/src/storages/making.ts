import { type GPUStorage, type NodeVolume, type NodeVolumeSpec, newObject, nodeNamespace, nodeVolumeKind } from '@capstan/api';
import { clusterOf } from '@capstan/client';
import { withRequester } from '@capstan/controller';
import { parseQuantity, scaledValue } from '@capstan/machinery';
import { directoryOf } from '../units/mounts.ts';

export function bytesOf(size: string | number): number {
  return Number(scaledValue(parseQuantity(size), 0));
}

/** The NodeVolume of a storage that is bound to a node. `source` is the NodeVolume whose files are copied, if there is one, and `path` that of the workspace. */
export function nodeVolumeFor(
  storage: GPUStorage,
  { source, path }: { readonly source?: string | undefined; readonly path?: string | undefined },
): NodeVolume {
  const { name = '', namespace = '', uid = '' } = storage.metadata;
  const { size, prepare, snapshotOf, recover } = storage.spec;
  const directory = directoryOf(storage);
  const spec: NodeVolumeSpec = {
    owner: { cluster: clusterOf(storage) ?? '', namespace, name, uid, ...(path !== undefined && { path }) },
    size: bytesOf(size),
    ...(source !== undefined && (snapshotOf === undefined ? { prepare: { storage: source } } : { snapshotOf: source })),
    ...(prepare?.url !== undefined && { prepare: { url: prepare.url } }),
    ...(prepare?.image !== undefined && { prepare: { image: prepare.image } }),
    ...(directory && { directory }),
    recover,
    retained: false,
    deleted: false,
  };
  const metadata = { name: storage.status?.volume ?? uid, namespace: nodeNamespace(storage.status?.node ?? '') };
  return withRequester(newObject(nodeVolumeKind, { metadata, spec }) as NodeVolume, storage);
}
