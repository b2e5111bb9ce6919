import { createHash, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';

export type SigningAlgorithm = 'ES256' | 'RS256';

/** A key that signs tokens, with the ID by which verifiers find it. */
export interface SigningKey {
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export type VerificationKey = Omit<SigningKey, 'privateKey'>;

export function signingKey(privateKey: KeyObject): SigningKey {
  return { ...verificationKey(createPublicKey(privateKey)), privateKey };
}

export function verificationKey(publicKey: KeyObject): VerificationKey {
  // The ID that Kubernetes derives for this key.
  const kid = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
  return { kid, algorithm: algorithmOf(publicKey), publicKey };
}

function algorithmOf(key: KeyObject): SigningAlgorithm {
  if (key.asymmetricKeyType === 'rsa') return 'RS256';
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  throw new TypeError(`a key for service account tokens must be RSA or EC on P-256, not ${key.asymmetricKeyType ?? key.type}`);
}

/** The public key as served from /openid/v1/jwks. */
export function jsonWebKey({ kid, algorithm, publicKey }: VerificationKey): JsonWebKey {
  const { kty, ...numbers } = publicKey.export({ format: 'jwk' });
  return { use: 'sig', kty: kty!, kid, alg: algorithm, ...numbers };
}
