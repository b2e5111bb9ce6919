import type { SecureContextOptions } from 'node:tls';

/**
 * Trusts these certificates instead of the system's authorities. As in Kubernetes, each certificate is trusted as it is,
 * regardless of its issuer: many users configure the webhook's own certificate or an intermediate authority.
 */
export function trusting(certificates: string | Buffer): SecureContextOptions {
  return { ca: certificates, allowPartialTrustChain: true };
}
