import { isPath, rootCluster } from '@capstan/api';
import { fieldsOf } from '@capstan/machinery';

/** Who a token is about, as it says itself; undefined if it is no JSON Web Token. */
export function claimsOf(authorization: string): Readonly<Record<string, unknown>> | undefined {
  const [, payload, signature] = authorization.slice('Bearer '.length).split('.');
  if (payload === undefined || signature === undefined) return undefined;
  try {
    return fieldsOf(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
  } catch {
    return undefined;
  }
}

/** The workspace of the service account that a token is about, as it says itself; undefined if it is about somebody else. */
export function accountWorkspace(authorization: string): string | undefined {
  const { serviceaccount, clusterName = rootCluster } = fieldsOf(claimsOf(authorization)?.['kubernetes.io']);
  if (serviceaccount === undefined || typeof clusterName !== 'string') return undefined;
  return isPath(clusterName) ? clusterName : undefined;
}

/** When a token says that it expires, in milliseconds; undefined if it does not say. */
export function expiryOf(authorization: string): number | undefined {
  const { exp } = claimsOf(authorization) ?? {};
  return typeof exp === 'number' && Number.isFinite(exp) ? exp * 1000 : undefined;
}
