import { type KeyPair, type Pki, trustedAuthorities } from './pki.ts';

/** A kubeconfig as an object. It contains a private key, so keep its file at mode 0600. */
export interface Kubeconfig {
  readonly apiVersion: 'v1';
  readonly kind: 'Config';
  readonly clusters: readonly NamedCluster[];
  readonly users: readonly { readonly name: string; readonly user: Readonly<Record<string, string>> }[];
  readonly contexts: readonly { readonly name: string; readonly context: { readonly cluster: string; readonly user: string } }[];
  readonly 'current-context': string;
}

interface NamedCluster {
  readonly name: string;
  readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
}

export interface KubeconfigUser {
  readonly name: string;
  readonly keyPair: KeyPair;
}

/** An additional context: the path that follows the server's address, and its user. */
interface Context {
  readonly name: string;
  readonly path: string;
  readonly user: KubeconfigUser;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** The administrator's kubeconfig. */
export function adminKubeconfig(pki: Pki, server: string): Kubeconfig {
  const admin = { name: 'kubernetes-admin', keyPair: pki.admin };
  const platform = pki.platformAdmin === undefined ? admin : { name: 'kcp-admin', keyPair: pki.platformAdmin };
  // The contexts that kcp's tools look for, with and without a workspace.
  return kubeconfig(pki, server, admin, [
    { name: 'base', path: '', user: platform },
    { name: 'root', path: '/clusters/root', user: platform },
    { name: 'shard-base', path: '', user: admin },
    { name: 'system:admin', path: '/clusters/system:admin', user: admin },
  ]);
}

/** A kubeconfig for a user who authenticates with a client certificate. */
export function userKubeconfig(pki: Pki, server: string, user: KubeconfigUser): Kubeconfig {
  return kubeconfig(pki, server, user, []);
}

/** A kubeconfig without a user: where the server is, and whom to trust. */
export function anonymousKubeconfig(pki: Pki, server: string): Kubeconfig {
  const { users: _, contexts: __, ...rest } = kubeconfig(pki, server, { name: '', keyPair: pki.admin }, []);
  return { ...rest, users: [], contexts: [{ name: 'capstan', context: { cluster: 'capstan', user: '' } }] };
}

function kubeconfig(pki: Pki, server: string, first: KubeconfigUser, others: readonly Context[]): Kubeconfig {
  const contexts = [{ name: 'capstan', path: '', user: first }, ...others];
  const users = [...new Map(contexts.map(({ user }) => [user.name, user])).values()];
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: contexts.map(({ name, path }) => ({
      name,
      cluster: { server: server + path, 'certificate-authority-data': base64(trustedAuthorities(pki)) },
    })),
    users: users.map(({ name, keyPair }) => ({
      name,
      user: { 'client-certificate-data': base64(keyPair.certificate), 'client-key-data': base64(keyPair.key) },
    })),
    contexts: contexts.map(({ name, user }) => ({ name, context: { cluster: name, user: user.name } })),
    'current-context': 'capstan',
  };
}
