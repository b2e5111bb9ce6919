import { jsonWebKey, type VerificationKey } from '@capstan/pki';

export interface OpenIdDocuments {
  /** For /.well-known/openid-configuration, as application/json. */
  readonly configuration: string;
  /** For /openid/v1/jwks, as application/jwk-set+json. */
  readonly keys: string;
  readonly cacheControl: string;
}

/**
 * The documents that others need to verify our service account tokens. `server` is the address of this server, such as
 * https://10.0.0.1:6443.
 */
export function openIdDocuments(issuer: string, server: string, keys: readonly VerificationKey[]): OpenIdDocuments {
  return {
    configuration: JSON.stringify({
      issuer,
      jwks_uri: `${server.replace(/\/+$/, '')}/openid/v1/jwks`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [...new Set(keys.map(({ algorithm }) => algorithm))].sort(),
    }),
    keys: JSON.stringify({ keys: keys.map(jsonWebKey) }),
    cacheControl: 'public, max-age=3600',
  };
}
