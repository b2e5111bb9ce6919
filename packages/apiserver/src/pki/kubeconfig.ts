import type { KeyPair, Pki } from './pki.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

export interface KubeconfigUser {
  readonly name: string;
  readonly keyPair: KeyPair;
}

/** A context that is not the first: what follows the server's address in it, and who one is there. */
interface Context {
  readonly name: string;
  readonly path: string;
  readonly user: KubeconfigUser;
}

/** A kubeconfig of the administrator. Holds a private key, as every one here does: keep it at mode 0600. */
export function adminKubeconfig(pki: Pki, server: string): string {
  const admin = { name: 'kubernetes-admin', keyPair: pki.admin };
  const platform = pki.platformAdmin === undefined ? admin : { name: 'kcp-admin', keyPair: pki.platformAdmin };
  // The contexts that kcp's tools look for: without a workspace, and at two of them.
  return kubeconfig(pki, server, admin, [
    { name: 'base', path: '', user: platform },
    { name: 'root', path: '/clusters/root', user: platform },
    { name: 'shard-base', path: '', user: admin },
    { name: 'system:admin', path: '/clusters/system:admin', user: admin },
  ]);
}

/** A kubeconfig with which the server at this address knows its client by a certificate. */
export function userKubeconfig(pki: Pki, server: string, user: KubeconfigUser): string {
  return kubeconfig(pki, server, user, []);
}

function kubeconfig({ authority }: Pki, server: string, first: KubeconfigUser, others: readonly Context[]): string {
  const contexts = [{ name: 'capstan', path: '', user: first }, ...others];
  const clusters = contexts.map(
    ({ name, path }) => `  - name: ${name}
    cluster:
      server: ${JSON.stringify(server + path)}
      certificate-authority-data: ${base64(authority.certificate)}
`,
  );
  const users = [...new Map(contexts.map(({ user }) => [user.name, user])).values()].map(
    ({ name, keyPair }) => `  - name: ${name}
    user:
      client-certificate-data: ${base64(keyPair.certificate)}
      client-key-data: ${base64(keyPair.key)}
`,
  );
  return `apiVersion: v1
kind: Config
clusters:
${clusters.join('')}users:
${users.join('')}contexts:
${contexts.map(({ name, user }) => `  - name: ${name}\n    context:\n      cluster: ${name}\n      user: ${user.name}\n`).join('')}current-context: capstan
`;
}
