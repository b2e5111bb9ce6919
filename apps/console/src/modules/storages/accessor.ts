import { type GPUStorage, type GPUUnit, gpuUnitKind, newObject } from '@capstan/api';
import { kubeClient, listPath, ownRequest, type Place } from '../kube/client.ts';

/** Where an accessor sees the storage. */
export const accessorRoot = '/volume';

/** A small unit that mounts a storage so that a page can show its files. It ends by itself if the page cannot end it. */
export function accessorOf({ metadata: { name: storage = '', namespace = '' }, spec: { snapshotOf } }: GPUStorage, id: string): GPUUnit {
  const metadata = { name: `volume-${storage.slice(0, 40).replace(/[-.]+$/, '')}-${id}`, namespace };
  const spec = {
    resources: { cpu: '100m', memory: '128Mi' },
    command: ['sleep', '86400'],
    mounts: [{ storage, path: accessorRoot, readOnly: snapshotOf !== undefined }],
    network: 'None' as const,
    stopGrace: '0s',
    maxDuration: '1h',
  };
  return newObject(gpuUnitKind, { metadata, spec }) as GPUUnit;
}

/** Whether a storage has files that a unit could see: before its first unit, it is on no node. */
export const hasNode = ({ spec, status }: GPUStorage): boolean => status?.node !== undefined || spec.node !== undefined;

export const createAccessor = (workspace: string, accessor: GPUUnit): Promise<GPUUnit> =>
  kubeClient(workspace).resource<GPUUnit>(gpuUnitKind).create(accessor);

/** Also works while the page goes away. */
export function removeAccessor(place: Place, name: string): void {
  const path = `/kube${listPath(gpuUnitKind, place)}/${encodeURIComponent(name)}`;
  void fetch(path, { method: 'DELETE', keepalive: true, headers: ownRequest }).catch(() => {});
}
