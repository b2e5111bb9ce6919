import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tokenFileCredentials } from '../credentials/token-file.ts';
import { type Connection, connectionOf } from './connection.ts';
import { KubeconfigError, type LoadOptions, loadKubeconfig } from './kubeconfig.ts';

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface InClusterOptions {
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where the token, the CA certificate and the namespace are mounted. */
  readonly folder?: string;
}

/** The connection of a pod's service account; undefined outside a pod. */
export function inClusterConnection({
  environment = process.env,
  folder = serviceAccountFolder,
}: InClusterOptions = {}): Connection | undefined {
  const host = environment.KUBERNETES_SERVICE_HOST ?? '';
  const port = environment.KUBERNETES_SERVICE_PORT ?? '';
  if (host === '' || port === '' || !existsSync(join(folder, 'token'))) return undefined;
  let ca: Buffer;
  try {
    ca = readFileSync(join(folder, 'ca.crt'));
  } catch (error) {
    throw new KubeconfigError(`this pod has a token in ${folder} but no readable ca.crt`, error);
  }
  const namespaceFile = join(folder, 'namespace');
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    credentials: tokenFileCredentials({ path: join(folder, 'token') }),
    ca,
    namespace: existsSync(namespaceFile) ? readFileSync(namespaceFile, 'utf8').trim() : 'default',
  };
}

/** The usual choice: the named kubeconfig, else the pod's own service account, else the user's kubeconfig. */
export function defaultConnection(options: LoadOptions & InClusterOptions & { readonly context?: string } = {}): Connection {
  const environment = options.environment ?? process.env;
  const named = options.path !== undefined || (environment.KUBECONFIG ?? '') !== '';
  return (named ? undefined : inClusterConnection(options)) ?? connectionOf(loadKubeconfig(options), options.context);
}
