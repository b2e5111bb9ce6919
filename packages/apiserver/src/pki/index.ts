export { type CertificateRequest, type Issuer, issueCertificate } from './certificate.ts';
export { PkiError } from './files.ts';
export { adminKubeconfig, type Kubeconfig, userKubeconfig } from './kubeconfig.ts';
export { type Authority, clientAuthorities, ensurePki, type KeyPair, type Pki, type PkiOptions } from './pki.ts';
export { keepFresh, type RenewalOptions, renew, secureContext } from './renewal.ts';
export { type ParsedRequest, parseCertificateRequest, requestProblem } from './request.ts';
export { createCertificateRequest, type RequestParts } from './request-making.ts';
export { jsonWebKey, type SigningAlgorithm, type SigningKey, signingKey, type VerificationKey, verificationKey } from './signing-key.ts';
