import { isPath, pathAnnotation, rootCluster } from '@capstan/api';
import { ApiError } from '@capstan/client';
import { fieldsOf, textOf } from '@capstan/machinery';
import { accountWorkspace, type Upstream } from '@capstan/serving';

/** Who signed in, as the API server says. */
export interface Identity {
  readonly user: { readonly name: string; readonly groups: readonly string[] };
  /** The path of the workspace in which the pages begin. */
  readonly home: string;
  /** May do everything in the root workspace. */
  readonly isPlatformOwner: boolean;
}

/** The workspace that a new installation has for its owner. */
const firstProject = 'root:main:default';

/** Asks the API server for everything that the pages want to know about a user. Throws an `ApiError` with the code 401 if it does not accept the token. */
export async function identify(upstream: Upstream, authorization: string): Promise<Identity> {
  const user = await userOf(upstream, authorization);
  const isPlatformOwner = await mayDoAll(upstream, authorization);
  // Asking for somebody's home creates it, which the owner of a laptop has no use for.
  const first = isPlatformOwner ? await pathOf(upstream, authorization, firstProject) : undefined;
  return { user, isPlatformOwner, home: first ?? (await homeOf(upstream, authorization)) };
}

export async function userOf(upstream: Upstream, authorization: string, signal?: AbortSignal): Promise<Identity['user']> {
  const review = await post(upstream, authorization, {
    path: `/clusters/${accountWorkspace(authorization) ?? rootCluster}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    ...(signal && { signal }),
  });
  const { username, groups } = fieldsOf(fieldsOf(review['status'])['userInfo']);
  return { name: textOf(username), groups: Array.isArray(groups) ? groups.map(textOf) : [] };
}

async function mayDoAll(upstream: Upstream, authorization: string): Promise<boolean> {
  const attributes = { verb: '*', group: '*', version: '*', resource: '*' };
  try {
    const review = await post(upstream, authorization, {
      path: `/clusters/${rootCluster}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`,
      body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes: attributes } },
    });
    return fieldsOf(review['status'])['allowed'] === true;
  } catch (error) {
    // Not even asking is allowed to users without access to root.
    if (error instanceof ApiError && error.code === 403) return false;
    throw error;
  }
}

/** The workspace of a service account, or a person's home. Root for those who have none. */
async function homeOf(upstream: Upstream, authorization: string): Promise<string> {
  const workspace = accountWorkspace(authorization) ?? (await ownHome(upstream, authorization)) ?? rootCluster;
  return (await pathOf(upstream, authorization, workspace)) ?? workspace;
}

async function ownHome(upstream: Upstream, authorization: string): Promise<string | undefined> {
  const path = `/clusters/${rootCluster}/apis/tenancy.kcp.io/v1alpha1/workspaces/~`;
  const home = await optional(upstream.json({ method: 'GET', path, authorization }));
  const cluster = textOf(fieldsOf(fieldsOf(home)['spec'])['cluster']);
  return isPath(cluster) ? cluster : undefined;
}

/** The path of a workspace; undefined if the user cannot see it. */
async function pathOf(upstream: Upstream, authorization: string, workspace: string): Promise<string | undefined> {
  const path = `/clusters/${workspace}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`;
  const found = await optional(upstream.json({ method: 'GET', path, authorization }));
  const named = textOf(fieldsOf(fieldsOf(fieldsOf(found)['metadata'])['annotations'])[pathAnnotation]);
  return isPath(named) ? named : undefined;
}

/** Undefined if the user may not know, or there is nothing to know yet. */
async function optional(asking: Promise<unknown>): Promise<unknown> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof ApiError && [403, 404, 429].includes(error.code)) return undefined;
    throw error;
  }
}

function post(
  upstream: Upstream,
  authorization: string,
  { path, body, signal }: { readonly path: string; readonly body: object; readonly signal?: AbortSignal },
): Promise<Readonly<Record<string, unknown>>> {
  return upstream.json({ method: 'POST', path, authorization, body: JSON.stringify({ metadata: {}, ...body }), ...(signal && { signal }) });
}
