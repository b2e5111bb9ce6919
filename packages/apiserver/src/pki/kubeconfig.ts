import type { KeyPair, Pki } from './pki.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

export interface KubeconfigOwner {
  readonly user: string;
  readonly keyPair: KeyPair;
  /** Contexts beside the usual one: name → what follows the server's address. */
  readonly contexts?: Readonly<Record<string, string>>;
}

/** A kubeconfig of the administrator. Holds a private key, as every one here does: keep it at mode 0600. */
export function adminKubeconfig(pki: Pki, server: string): string {
  return kubeconfig(pki, server, { user: 'kubernetes-admin', keyPair: pki.admin, contexts: workspaceContexts });
}

/** The contexts that kcp's tools look for, and where in the server they point: without a workspace, and at two of them. */
const workspaceContexts = { base: '', 'shard-base': '', root: '/clusters/root', 'system:admin': '/clusters/system:admin' };

/** A kubeconfig with which the server at this address knows its client by a certificate. */
export function kubeconfig(pki: Pki, server: string, { user, keyPair, contexts = {} }: KubeconfigOwner): string {
  const all = Object.entries({ capstan: '', ...contexts });
  const clusters = all.map(
    ([name, path]) => `  - name: ${name}
    cluster:
      server: ${JSON.stringify(server + path)}
      certificate-authority-data: ${base64(pki.authority.certificate)}
`,
  );
  return `apiVersion: v1
kind: Config
clusters:
${clusters.join('')}users:
  - name: ${user}
    user:
      client-certificate-data: ${base64(keyPair.certificate)}
      client-key-data: ${base64(keyPair.key)}
contexts:
${all.map(([name]) => `  - name: ${name}\n    context:\n      cluster: ${name}\n      user: ${user}\n`).join('')}current-context: capstan
`;
}
