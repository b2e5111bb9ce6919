import type { Registration } from '../../registration.ts';
import { csrCleaning } from './controller.ts';

/** Deletes old certificate requests. */
export const registration: Registration = {
  name: 'csr-cleaning',
  account: 'certificate-controller',
  workspaces: 'root',
  watches: ['certificatesigningrequests.certificates.k8s.io'],
  make: csrCleaning,
};
