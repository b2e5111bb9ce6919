/** The label of the Leases of API servers, in kube-system of the root workspace. */
export const serverLeaseLabel = 'apiserver.kubernetes.io/identity';

/** The annotations of such a Lease. Keys are named by the SHA-256 of their public half. */
export const serverLeaseAnnotations = {
  url: 'capstan.dev/url',
  endpoint: 'capstan.dev/endpoint',
  /** The key of the authority that signs. */
  authority: 'capstan.dev/authority',
  signer: 'capstan.dev/signer',
  /** While the authority is rotated: the ones that are trusted too, and the phase. */
  otherAuthority: 'capstan.dev/other-authority',
  otherSigner: 'capstan.dev/other-signer',
  phase: 'capstan.dev/authority-phase',
  serviceAccountKey: 'capstan.dev/service-account-key',
} as const;
