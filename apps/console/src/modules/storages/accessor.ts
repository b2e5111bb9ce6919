import { type GPUStorage, type GPUUnit, gpuUnitKind, storageHelper } from '@capstan/api';
import { kubeClient, listPath, ownRequest, type Place } from '../kube/client.ts';

/** A small unit that mounts a storage so that a page can show its files. It ends by itself if the page cannot end it. */
export const accessorOf = ({ metadata: { name = '', namespace = '' }, spec: { snapshotOf } }: GPUStorage, id: string): GPUUnit =>
  storageHelper(name, { namespace, id, readOnly: snapshotOf !== undefined, maxDuration: '1h' });

/** Whether a storage has files that a unit could see: before its first unit, it is on no node. */
export const hasNode = ({ spec, status }: GPUStorage): boolean => status?.node !== undefined || spec.node !== undefined;

export const createAccessor = (workspace: string, accessor: GPUUnit): Promise<GPUUnit> =>
  kubeClient(workspace).resource<GPUUnit>(gpuUnitKind).create(accessor);

/** Also works while the page goes away. */
export function removeAccessor(place: Place, name: string): void {
  const path = `/kube${listPath(gpuUnitKind, place)}/${encodeURIComponent(name)}`;
  void fetch(path, { method: 'DELETE', keepalive: true, headers: ownRequest }).catch(() => {});
}
