export { type CertificateRequest, type Issuer, issueCertificate } from './certificate.ts';
export * as der from './der.ts';
export { elements } from './der.ts';
export { PkiError, readIfThere, writeAtomically } from './files.ts';
export { adminKubeconfig, anonymousKubeconfig, type Kubeconfig, userKubeconfig } from './kubeconfig.ts';
export {
  type Authority,
  clientAuthorities,
  ensurePki,
  type KeyPair,
  type Pki,
  type PkiOptions,
  serviceAddresses,
  trustedAuthorities,
  trustedSigners,
} from './pki.ts';
export { certificateFingerprint, isRenewalProof, pinnedCertificate, publicKeyHash, renewalProof } from './proof.ts';
export { keepFresh, type RenewalOptions, renew, secureContext } from './renewal.ts';
export { type ParsedRequest, parseCertificateRequest, requestProblem } from './request.ts';
export { createCertificateRequest, type RequestParts } from './request-making.ts';
export {
  type Rotation,
  type RotationAction,
  RotationError,
  type RotationPhase,
  readRotation,
  rotate,
  rotationActions,
  rotationFile,
} from './rotation.ts';
export { jsonWebKey, type SigningAlgorithm, type SigningKey, signingKey, type VerificationKey, verificationKey } from './signing-key.ts';
