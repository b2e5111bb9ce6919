import type { KindType } from '@capstan/controller';

export const podType = { group: '', version: 'v1', resource: 'pods', namespaced: true };
export const claimType: KindType = {
  group: '',
  version: 'v1',
  resource: 'persistentvolumeclaims',
  namespaced: true,
  kind: 'PersistentVolumeClaim',
};
export const volumeType: KindType = {
  group: '',
  version: 'v1',
  resource: 'persistentvolumes',
  namespaced: false,
  kind: 'PersistentVolume',
};
export const volumeClassType: KindType = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'volumeattributesclasses',
  namespaced: false,
  kind: 'VolumeAttributesClass',
};
