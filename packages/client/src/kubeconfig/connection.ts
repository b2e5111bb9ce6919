import { readFileSync } from 'node:fs';
import { isObject, type Json, type JsonObject } from '@capstan/machinery';
import { type Credentials, combinedCredentials, fixedCredentials } from '../credentials/credentials.ts';
import { type ExecConfig, execCredentials } from '../credentials/exec.ts';
import { oidcCredentials } from '../credentials/oidc.ts';
import { tokenFileCredentials } from '../credentials/token-file.ts';
import { type Entry, type Kubeconfig, KubeconfigError, resolvePath } from './kubeconfig.ts';

/** The user that a request acts as, if not the authenticated one. */
export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Everything needed to talk to a server. */
export interface Connection {
  /** With a path, which is prefixed to every path: `https://host:6443/clusters/root:org`. */
  readonly server: string;
  readonly credentials: Credentials;
  /** PEM of the authorities that may have signed the server's certificate; by default those of the system. */
  readonly ca?: string | Buffer;
  /** Accept any certificate. */
  readonly insecure?: boolean;
  /** The name to check the server's certificate against, if not the host of `server`. */
  readonly tlsServerName?: string;
  readonly impersonate?: Impersonation;
  /** Of the context; `default` if it has none. */
  readonly namespace: string;
}

/** The connection that a context describes, by default the current one. */
export function connectionOf(config: Kubeconfig, contextName: string = config.currentContext): Connection {
  const where = config.sources.join(', ');
  if (contextName === '') throw new KubeconfigError(`${where} has no current-context; name a context`);
  const context = config.contexts.get(contextName);
  if (context === undefined)
    throw new KubeconfigError(`${where} has no context "${contextName}"; it has: ${[...config.contexts.keys()].join(', ')}`);
  const clusterName = text(context.fields, 'cluster') ?? '';
  const cluster = config.clusters.get(clusterName);
  if (cluster === undefined)
    throw new KubeconfigError(`context "${contextName}" refers to the cluster "${clusterName}", which ${where} does not contain`);
  const userName = text(context.fields, 'user') ?? '';
  const user = config.users.get(userName);
  if (user === undefined && userName !== '') {
    throw new KubeconfigError(`context "${contextName}" refers to the user "${userName}", which ${where} does not contain`);
  }
  const server = serverOf(clusterName, cluster.fields);
  const ca = dataOrFile(cluster, 'certificate-authority');
  const insecure = cluster.fields['insecure-skip-tls-verify'] === true;
  if (insecure && ca !== undefined) {
    throw new KubeconfigError(`cluster "${clusterName}" has both a certificate authority and insecure-skip-tls-verify; keep one of them`);
  }
  const tlsServerName = text(cluster.fields, 'tls-server-name');
  const impersonate = user && impersonationOf(user.fields);
  return {
    server,
    credentials: user === undefined ? fixedCredentials({}) : credentialsOf(userName, user, { server, ca, insecure, tlsServerName }),
    ...(ca !== undefined && { ca }),
    ...(insecure && { insecure }),
    ...(tlsServerName !== undefined && { tlsServerName }),
    ...(impersonate !== undefined && { impersonate }),
    namespace: text(context.fields, 'namespace') ?? 'default',
  };
}

function serverOf(clusterName: string, fields: JsonObject): string {
  if (text(fields, 'proxy-url') !== undefined) {
    throw new KubeconfigError(`cluster "${clusterName}" has a proxy-url, which is not supported; remove it and reach the server directly`);
  }
  const server = text(fields, 'server') ?? '';
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new KubeconfigError(`cluster "${clusterName}": expected server to be an https:// or http:// address, found "${server}"`);
  }
  return server.replace(/\/+$/, '');
}

interface ClusterFacts {
  readonly server: string;
  readonly ca: Buffer | undefined;
  readonly insecure: boolean;
  readonly tlsServerName: string | undefined;
}

function credentialsOf(userName: string, user: Entry, cluster: ClusterFacts): Credentials {
  const { fields } = user;
  const cert = dataOrFile(user, 'client-certificate');
  const key = dataOrFile(user, 'client-key');
  if ((cert === undefined) !== (key === undefined)) {
    throw new KubeconfigError(`user "${userName}" needs both client-certificate and client-key, or neither`);
  }
  return combinedCredentials(cert && key && { cert, key }, tokenSource(userName, fields, { user, cluster }));
}

function tokenSource(userName: string, fields: JsonObject, { user, cluster }: { user: Entry; cluster: ClusterFacts }): Credentials {
  const tokenFile = text(fields, 'tokenFile');
  const token = text(fields, 'token');
  if (tokenFile !== undefined) return tokenFileCredentials({ path: resolvePath(user, tokenFile) });
  if (token !== undefined) return fixedCredentials({ authorization: `Bearer ${token}` });
  const username = text(fields, 'username');
  if (username !== undefined) {
    const pair = Buffer.from(`${username}:${text(fields, 'password') ?? ''}`).toString('base64');
    return fixedCredentials({ authorization: `Basic ${pair}` });
  }
  if (isObject(fields.exec)) {
    return execCredentials({
      config: execConfigOf(userName, user, fields.exec),
      cluster: {
        server: cluster.server,
        insecure: cluster.insecure,
        ...(cluster.ca !== undefined && { caData: cluster.ca.toString('base64') }),
        ...(cluster.tlsServerName !== undefined && { tlsServerName: cluster.tlsServerName }),
      },
    });
  }
  if (isObject(fields['auth-provider'])) return authProviderOf(userName, user, fields['auth-provider']);
  return fixedCredentials({});
}

function execConfigOf(userName: string, user: Entry, exec: JsonObject): ExecConfig {
  const command = text(exec, 'command');
  if (command === undefined) throw new KubeconfigError(`user "${userName}": exec needs a command`);
  const pairs = Array.isArray(exec.env) ? exec.env.filter(isObject) : [];
  const hint = text(exec, 'installHint');
  return {
    // A path is relative to the file; a plain name is searched in PATH.
    command: command.includes('/') ? resolvePath(user, command) : command,
    args: texts(exec.args),
    env: pairs.map((pair) => ({ name: text(pair, 'name') ?? '', value: text(pair, 'value') ?? '' })),
    apiVersion: text(exec, 'apiVersion') ?? '',
    provideClusterInfo: exec.provideClusterInfo === true,
    ...(hint !== undefined && { installHint: hint }),
  };
}

function authProviderOf(userName: string, user: Entry, provider: JsonObject): Credentials {
  if (provider.name !== 'oidc') {
    throw new KubeconfigError(
      `user "${userName}": the auth-provider "${text(provider, 'name') ?? ''}" is not supported; use an exec plugin`,
    );
  }
  const config = isObject(provider.config) ? provider.config : {};
  const issuer = text(config, 'idp-issuer-url');
  const clientId = text(config, 'client-id');
  if (issuer === undefined || clientId === undefined) {
    throw new KubeconfigError(`user "${userName}": the oidc auth-provider needs idp-issuer-url and client-id`);
  }
  const ca = dataOrFile({ fields: config, folder: user.folder }, 'idp-certificate-authority');
  const optional = {
    clientSecret: text(config, 'client-secret'),
    idToken: text(config, 'id-token'),
    refreshToken: text(config, 'refresh-token'),
  };
  return oidcCredentials({
    config: {
      issuer,
      clientId,
      ...(ca !== undefined && { ca }),
      ...(optional.clientSecret !== undefined && { clientSecret: optional.clientSecret }),
      ...(optional.idToken !== undefined && { idToken: optional.idToken }),
      ...(optional.refreshToken !== undefined && { refreshToken: optional.refreshToken }),
    },
  });
}

function impersonationOf(fields: JsonObject): Impersonation | undefined {
  const user = text(fields, 'as');
  if (user === undefined) return undefined;
  const uid = text(fields, 'as-uid');
  const groups = fields['as-groups'];
  const extra = fields['as-user-extra'];
  return {
    user,
    ...(uid !== undefined && { uid }),
    ...(Array.isArray(groups) && { groups: texts(groups) }),
    ...(isObject(extra) && {
      extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, texts(values)])),
    }),
  };
}

/** Bytes from the entry itself (base64), or from a file that it names. */
function dataOrFile(entry: Entry, field: string): Buffer | undefined {
  const data = text(entry.fields, `${field}-data`);
  if (data !== undefined) return Buffer.from(data, 'base64');
  const path = text(entry.fields, field);
  if (path === undefined) return undefined;
  try {
    return readFileSync(resolvePath(entry, path));
  } catch (error) {
    throw new KubeconfigError(`cannot read ${resolvePath(entry, path)}, the ${field} in the kubeconfig`, error);
  }
}

function text(fields: JsonObject, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function texts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
