import type { Registration } from '../../registration.ts';
import { volumeClassProtection } from './controller.ts';

/** Releases VolumeAttributesClasses that are being deleted once no claim or volume uses them. */
export const registration: Registration = {
  name: 'vac-protection',
  account: 'volumeattributesclass-protection-controller',
  workspaces: 'root',
  watches: ['volumeattributesclasses.storage.k8s.io', 'persistentvolumeclaims', 'persistentvolumes'],
  make: volumeClassProtection,
};
