import { createHash, createPublicKey, X509Certificate } from 'node:crypto';
import type { Pki } from '@capstan/pki';

/**
 * The keys that make API servers one installation: each accepts what the others sign. A key is identified by the SHA-256 of its
 * public half, so that servers can compare keys through their store.
 */
export interface Installation {
  /** `ca.crt`: signs the certificates of servers and clients. */
  readonly authority: string;
  /** `signer.crt`: signs certificates that clients request. Undefined if the server cannot sign. */
  readonly signer: string | undefined;
  /** `sa.key`: signs service account tokens. */
  readonly serviceAccountKey: string;
}

export function installationOf({ authority, signer, serviceAccounts }: Pki): Installation {
  return {
    authority: certificateKey(authority.certificate),
    signer: signer && certificateKey(signer.certificate),
    serviceAccountKey: fingerprint(createPublicKey(serviceAccounts.privateKey).export({ type: 'spki', format: 'der' })),
  };
}

/** The files in `pki/` that two servers must share but do not. */
export function differingFiles(ours: Installation, theirs: Installation): string[] {
  const files: string[] = [];
  if (ours.authority !== theirs.authority) files.push('ca.crt and ca.key');
  // A server without a signer signs nothing, and accepts certificates signed by the authority.
  if (ours.signer !== undefined && theirs.signer !== undefined && ours.signer !== theirs.signer) files.push('signer.crt and signer.key');
  if (ours.serviceAccountKey !== theirs.serviceAccountKey) files.push('sa.key');
  return files;
}

/** The id of the key in a PEM certificate. */
export function certificateKey(certificate: string): string {
  return fingerprint(new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' }));
}

function fingerprint(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
