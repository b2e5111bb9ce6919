import { rootCluster } from '@capstan/api';
import type { AdmissionPlugin } from '../../registry/admission.ts';

const finalizers: ReadonlyMap<string, string> = new Map([
  ['/persistentvolumes', 'kubernetes.io/pv-protection'],
  ['/persistentvolumeclaims', 'kubernetes.io/pvc-protection'],
  ['storage.k8s.io/volumeattributesclasses', 'kubernetes.io/vac-protection'],
]);

/** Adds a finalizer that protects storage objects while they are in use. A controller removes it when they are not. */
export const storageObjectInUseProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  mutate({ resource, operation, subresource, object, context }) {
    if (operation !== 'CREATE' || subresource !== '' || object === undefined || resource.custom !== undefined) return;
    // No controller would remove the finalizer in other workspaces.
    if (context.cluster !== rootCluster) return;
    const finalizer = finalizers.get(`${resource.group}/${resource.resource}`);
    if (finalizer === undefined) return;
    const { metadata } = object;
    if (!metadata.finalizers?.includes(finalizer)) metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
  },
};
