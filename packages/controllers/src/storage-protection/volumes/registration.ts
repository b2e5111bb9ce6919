import type { Registration } from '../../registration.ts';
import { volumeProtection } from './controller.ts';

/** Releases PersistentVolumes that are being deleted once they are not bound. */
export const registration: Registration = {
  name: 'pv-protection',
  account: 'pv-protection-controller',
  workspaces: 'root',
  watches: ['persistentvolumes'],
  make: volumeProtection,
};
