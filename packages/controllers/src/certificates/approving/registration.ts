import type { Registration } from '../../registration.ts';
import { csrApproving } from './controller.ts';

/** Approves the certificate requests of kubelets that are entitled to them. */
export const registration: Registration = {
  name: 'csr-approving',
  account: 'certificate-controller',
  workspaces: 'root',
  watches: ['certificatesigningrequests.certificates.k8s.io'],
  make: csrApproving,
};
