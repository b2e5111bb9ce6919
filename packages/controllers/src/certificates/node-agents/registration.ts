import type { Registration } from '../../registration.ts';
import { nodeAgentCertificates } from './controller.ts';

/** Approves and signs the certificate requests of node agents. */
export const registration: Registration = {
  name: 'node-agent-certificates',
  account: 'platform-certificate-controller',
  workspaces: 'root',
  watches: ['certificatesigningrequests.certificates.k8s.io'],
  make: nodeAgentCertificates,
};
