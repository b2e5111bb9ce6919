import { compareQuantities, fieldsOf, type KubeObject, parseQuantity, textOf } from '@capstan/machinery';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import { forbidden } from '../forbidden.ts';

const classes = { group: 'storage.k8s.io', resource: 'storageclasses' };

/** Allows only bound claims to be expanded, and only if their class allows it. */
export const persistentVolumeClaimResize: AdmissionPlugin = {
  name: 'PersistentVolumeClaimResize',
  validate(request) {
    const { resource, operation, subresource, object, old } = request;
    if (operation !== 'UPDATE' || resource.resource !== 'persistentvolumeclaims' || resource.group !== '' || subresource !== '') return;
    if (object === undefined || old === undefined || !grows(object, old)) return;
    if (fieldsOf(old['status'])['phase'] !== 'Bound') throw forbidden(request, 'Only bound persistent volume claims can be expanded');
    if (!allowed(request, object, old)) {
      throw forbidden(
        request,
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
      );
    }
  },
};

function grows(object: KubeObject, old: KubeObject): boolean {
  const [size, before] = [sizeOf(object), sizeOf(old)];
  if (size === before) return false;
  return compareQuantities(parseQuantity(size), parseQuantity(before)) > 0;
}

function sizeOf(claim: KubeObject): string {
  return textOf(fieldsOf(fieldsOf(fieldsOf(claim['spec'])['resources'])['requests'])['storage']) || '0';
}

function allowed({ context }: AdmissionRequest, object: KubeObject, old: KubeObject): boolean {
  const name = classOf(object);
  if (name === '' || name !== classOf(old)) return false;
  return context.objects.get({ ...classes, cluster: context.cluster, namespace: '', name })?.['allowVolumeExpansion'] === true;
}

function classOf(claim: KubeObject): string {
  return claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? textOf(fieldsOf(claim['spec'])['storageClassName']);
}
