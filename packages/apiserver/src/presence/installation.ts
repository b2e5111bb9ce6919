import { createHash, createPublicKey, X509Certificate } from 'node:crypto';
import type { Pki } from '@capstan/pki';

/**
 * The keys that make API servers one installation: what one of them signs, the others accept. Each is named by the SHA-256 of its public half, so that servers can
 * compare them through their store.
 */
export interface Installation {
  /** `ca.crt`: certificates of servers and clients. */
  readonly authority: string;
  /** `signer.crt`: certificates that clients asked for. Absent where nothing can be signed. */
  readonly signer: string | undefined;
  /** `sa.key`: tokens of service accounts. */
  readonly serviceAccountKey: string;
}

export function installationOf({ authority, signer, serviceAccounts }: Pki): Installation {
  return {
    authority: certificateKey(authority.certificate),
    signer: signer && certificateKey(signer.certificate),
    serviceAccountKey: fingerprint(createPublicKey(serviceAccounts.privateKey).export({ type: 'spki', format: 'der' })),
  };
}

/** The files in `pki/` that two servers would have to share and do not. */
export function differingFiles(ours: Installation, theirs: Installation): string[] {
  const files: string[] = [];
  if (ours.authority !== theirs.authority) files.push('ca.crt and ca.key');
  // A server without a signer signs nothing, and takes what the authority has signed.
  if (ours.signer !== undefined && theirs.signer !== undefined && ours.signer !== theirs.signer) files.push('signer.crt and signer.key');
  if (ours.serviceAccountKey !== theirs.serviceAccountKey) files.push('sa.key');
  return files;
}

/** The name of the key in a certificate, in PEM. */
export function certificateKey(certificate: string): string {
  return fingerprint(new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' }));
}

function fingerprint(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
