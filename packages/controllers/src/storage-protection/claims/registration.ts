import type { Registration } from '../../registration.ts';
import { claimProtection } from './controller.ts';

/** Releases PersistentVolumeClaims that are being deleted once no pod uses them. */
export const registration: Registration = {
  name: 'pvc-protection',
  account: 'pvc-protection-controller',
  workspaces: 'root',
  watches: ['persistentvolumeclaims', 'pods'],
  make: claimProtection,
};
