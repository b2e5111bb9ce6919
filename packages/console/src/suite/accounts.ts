import type { TestServer } from '@capstan/apiserver/testing';

/** A service account of the root workspace, and a token of it. */
export async function accountToken(server: TestServer, name: string, { role }: { readonly role?: string } = {}): Promise<string> {
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await server.call(accounts, { method: 'POST', body: { metadata: { name } } });
  if (role !== undefined)
    await server.call('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      method: 'POST',
      body: {
        metadata: { name },
        subjects: [{ kind: 'ServiceAccount', namespace: 'default', name }],
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      },
    });
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const reply = await server.call(`${accounts}/${name}/token`, { method: 'POST', body });
  return (reply.json() as unknown as { readonly status: { readonly token: string } }).status.token;
}
