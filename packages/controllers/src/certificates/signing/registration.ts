import type { Registration } from '../../registration.ts';
import { csrSigning } from './controller.ts';

/** Signs approved certificate requests for the signers of Kubernetes. */
export const registration: Registration = {
  name: 'csr-signing',
  account: 'certificate-controller',
  workspaces: 'root',
  watches: ['certificatesigningrequests.certificates.k8s.io'],
  make: csrSigning,
};
