import { isPath, rootCluster } from '@capstan/api';
import { fieldsOf, textOf } from '@capstan/machinery';
import { Problem } from '../problems/problem.ts';
import type { Upstream } from './upstream.ts';

/**
 * The workspace of a request that names none: that of the service account whose token it carries, or the home of the user. The token is only read to choose the
 * address; the API server checks it.
 */
export async function defaultWorkspace(upstream: Upstream, authorization: string): Promise<string> {
  const account = accountWorkspace(authorization);
  if (account !== undefined) return account;
  const path = '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/~';
  const home: unknown = await upstream.json({ method: 'GET', path, authorization });
  const cluster = textOf(fieldsOf(fieldsOf(home)['spec'])['cluster']);
  if (!isPath(cluster))
    throw new Problem('workspace_not_found', 'You have no home workspace. Name a workspace: /clusters/<workspace>/api/v1/….');
  return cluster;
}

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

function accountWorkspace(authorization: string): string | undefined {
  const claim = claimsOf(authorization)?.['kubernetes.io'];
  const { serviceaccount, clusterName = rootCluster } = fieldsOf(claim);
  if (serviceaccount === undefined || typeof clusterName !== 'string') return undefined;
  return isPath(clusterName) ? clusterName : undefined;
}
