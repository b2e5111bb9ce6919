import { isIPv6 } from 'node:net';

const unknownAuthority = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
]);

interface NetworkError extends NodeJS.ErrnoException {
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
  readonly host?: string;
  readonly cert?: { readonly subjectaltname?: string };
  readonly errors?: readonly Error[];
}

/** The reason why a connection failed, in the words that operators know from kube-apiserver. */
export function networkFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const failure = error as NetworkError;
  const { code = '' } = failure;
  if (failure.errors?.[0] !== undefined && code === 'ECONNREFUSED') return networkFailure(failure.errors[0]);
  if (code === 'ECONNREFUSED') return `dial tcp ${hostText(failure.address ?? '')}:${failure.port}: connect: connection refused`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${failure.hostname}: no such host`;
  if (code === 'ECONNRESET') return 'EOF';
  if (unknownAuthority.has(code)) return 'tls: failed to verify certificate: x509: certificate signed by unknown authority';
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return 'tls: failed to verify certificate: x509: certificate has expired or is not yet valid';
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `tls: failed to verify certificate: x509: certificate is valid for ${validFor(failure)}, not ${failure.host}`;
  }
  return error.message;
}

function hostText(host: string): string {
  return isIPv6(host) ? `[${host}]` : host;
}

function validFor({ cert }: NetworkError): string {
  const names = (cert?.subjectaltname ?? '').split(', ').filter((name) => name.startsWith('DNS:'));
  return names.map((name) => name.slice(4)).join(', ');
}
