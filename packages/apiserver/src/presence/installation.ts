import { createHash, createPublicKey, X509Certificate } from 'node:crypto';
import type { Pki, RotationPhase } from '@capstan/pki';

/**
 * The keys that make API servers one installation: each accepts what the others sign. A key is identified by the SHA-256 of its
 * public half, so that servers can compare keys through their store.
 */
export interface Installation {
  /** `ca.crt`: signs the certificates of servers and clients. */
  readonly authority: string;
  /** `signer.crt`: signs certificates that clients request. Undefined if the server cannot sign. */
  readonly signer: string | undefined;
  /** Set while the authority is rotated: the ones that are trusted too, and the phase. */
  readonly otherAuthority?: string | undefined;
  readonly otherSigner?: string | undefined;
  readonly phase?: RotationPhase;
  /** `sa.key`: signs service account tokens. */
  readonly serviceAccountKey: string;
}

export function installationOf({ authority, signer, serviceAccounts, rotation }: Pki): Installation {
  return {
    authority: certificateKey(authority.certificate),
    signer: signer && certificateKey(signer.certificate),
    otherAuthority: rotation.otherAuthority && certificateKey(rotation.otherAuthority),
    otherSigner: rotation.otherSigner && certificateKey(rotation.otherSigner),
    phase: rotation.phase,
    serviceAccountKey: fingerprint(createPublicKey(serviceAccounts.privateKey).export({ type: 'spki', format: 'der' })),
  };
}

/** The files in `pki/` that two servers must share but do not. Servers in different phases of a rotation differ only if one does not trust the other. */
export function differingFiles(ours: Installation, theirs: Installation): string[] {
  const files: string[] = [];
  const trusts = (one: Installation, other: Installation): boolean => [one.authority, one.otherAuthority].includes(other.authority);
  if (!trusts(ours, theirs) || !trusts(theirs, ours)) files.push('ca.crt and ca.key');
  // A server without a signer signs nothing, and accepts certificates signed by the authority.
  const accepts = (one: Installation, other: Installation): boolean =>
    one.signer === undefined || other.signer === undefined || [one.signer, one.otherSigner].includes(other.signer);
  if (!accepts(ours, theirs) || !accepts(theirs, ours)) files.push('signer.crt and signer.key');
  if (files.length > 0 && (ours.otherAuthority ?? theirs.otherAuthority) !== undefined) files.push('rotation.json');
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
