import type { Pki } from './pki.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A kubeconfig that makes kubectl the administrator of the server at this address. Holds a private key: keep it at mode 0600. */
export function adminKubeconfig(pki: Pki, server: string): string {
  return `apiVersion: v1
kind: Config
clusters:
  - name: capstan
    cluster:
      server: ${JSON.stringify(server)}
      certificate-authority-data: ${base64(pki.authority.certificate)}
users:
  - name: kubernetes-admin
    user:
      client-certificate-data: ${base64(pki.admin.certificate)}
      client-key-data: ${base64(pki.admin.key)}
contexts:
  - name: capstan
    context:
      cluster: capstan
      user: kubernetes-admin
current-context: capstan
`;
}
