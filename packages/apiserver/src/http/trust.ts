import type { SecureContextOptions } from 'node:tls';

/**
 * What is trusted instead of the authorities that everybody trusts. As in Kubernetes each certificate is trusted as it is, who ever signed it: many give the
 * webhook's own, or an intermediate authority.
 */
export function trusting(certificates: string | Buffer): SecureContextOptions {
  return { ca: certificates, allowPartialTrustChain: true };
}
