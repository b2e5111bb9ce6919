import type { KeyPair, Pki } from './pki.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

export interface KubeconfigOwner {
  readonly user: string;
  readonly keyPair: KeyPair;
}

/** A kubeconfig of the administrator. Holds a private key, as every one here does: keep it at mode 0600. */
export function adminKubeconfig(pki: Pki, server: string): string {
  return kubeconfig(pki, server, { user: 'kubernetes-admin', keyPair: pki.admin });
}

/** A kubeconfig with which the server at this address knows its client by a certificate. */
export function kubeconfig(pki: Pki, server: string, { user, keyPair }: KubeconfigOwner): string {
  return `apiVersion: v1
kind: Config
clusters:
  - name: capstan
    cluster:
      server: ${JSON.stringify(server)}
      certificate-authority-data: ${base64(pki.authority.certificate)}
users:
  - name: ${user}
    user:
      client-certificate-data: ${base64(keyPair.certificate)}
      client-key-data: ${base64(keyPair.key)}
contexts:
  - name: capstan
    context:
      cluster: capstan
      user: ${user}
current-context: capstan
`;
}
