import { isPath } from '@capstan/api';
import { fieldsOf, textOf } from '@capstan/machinery';
import type { Upstream } from '@capstan/serving';
import { accountWorkspace } from '@capstan/serving';
import { Problem } from '../problems/problem.ts';

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
