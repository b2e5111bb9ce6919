import { randomUUID } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answersReady, Child, capstanProgram, output, readConnection } from '@capstan/testbed';

export interface KcpServerOptions {
  /** For all files of the server. */
  readonly directory: string;
  readonly port: number;
  /** The tokens of the tests' users. */
  readonly tokens: string;
  /** More sections of the configuration file. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

export interface KcpServer extends AsyncDisposable {
  readonly kubeconfig: string;
  /** The API server's process. */
  readonly child: Child;
}

/**
 * The users of the tests: an administrator subject to RBAC, and a superuser. The latter has a token, as in kcp: tests drop it to be
 * anonymous.
 */
const admin = { name: 'kcp-admin', group: 'system:kcp:admin' } as const;
const master = { name: 'shard-admin', group: 'system:masters' } as const;
type Identity = typeof admin.name | typeof master.name;

/**
 * Capstan with its controllers, plus the files that kcp's tests expect beside the kubeconfig: they sign certificates and serve webhooks
 * themselves.
 */
export async function startForKcp({ directory, port, tokens, settings = {} }: KcpServerOptions): Promise<KcpServer> {
  const data = join(directory, 'data');
  const url = `https://127.0.0.1:${port}`;
  mkdirSync(join(data, 'pki'), { recursive: true });
  await makeAuthority(directory);
  for (const name of ['ca.crt', 'ca.key']) copyFileSync(join(directory, `client-${name}`), join(data, 'pki', name));
  const kubeconfig = join(directory, 'admin.kubeconfig');
  const token = randomUUID();
  writeFileSync(kubeconfig, await kubeconfigOf(directory, url, token));
  const tokenFile = join(directory, 'tokens.csv');
  writeFileSync(tokenFile, `${readFileSync(tokens, 'utf8').trimEnd()}\n${token},${master.name},${master.name},"${master.group}"\n`);
  const config = join(directory, 'capstan.yaml');
  writeFileSync(
    config,
    JSON.stringify({
      dataDirectory: data,
      apiserver: { listen: { host: '127.0.0.1', port }, authentication: { tokenFile }, ...settings },
      // kcp begins with only the root workspace, and tests choose names freely.
      controllerManager: { controllers: ['*', '-platform-tree'] },
    }),
  );
  await using stack = new AsyncDisposableStack();
  const child = stack.use(new Child('apiserver', [process.execPath, capstanProgram, 'apiserver', '--config', config]));
  await child.waitUntil('ready', () => answersReady(readConnection(kubeconfig)));
  const manager = [capstanProgram, 'controller-manager', '--config', config, '--port', '0', '--no-leader-elect'];
  stack.use(new Child('controller-manager', [process.execPath, ...manager]));
  for (const name of ['apiserver.crt', 'apiserver.key']) copyFileSync(join(data, 'pki', name), join(directory, name));
  const owned = stack.move();
  return { kubeconfig, child, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The tests sign with RSA. */
async function makeAuthority(directory: string): Promise<void> {
  const extensions = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,digitalSignature,keyEncipherment'];
  const made = ['-keyout', 'client-ca.key', '-out', 'client-ca.crt', '-days', '30', '-subj', '/CN=kubernetes'];
  const rsa = ['-newkey', 'rsa:2048', '-noenc'];
  await output('openssl', ['req', '-x509', ...rsa, ...made, ...extensions.flatMap((one) => ['-addext', one])], { directory });
}

async function kubeconfigOf(directory: string, server: string, token: string): Promise<string> {
  const base64 = (file: string): string => readFileSync(join(directory, file)).toString('base64');
  const { name, group } = admin;
  const issued = ['-CA', 'client-ca.crt', '-CAkey', 'client-ca.key', '-keyout', `${name}.key`, '-out', `${name}.crt`];
  const wanted = ['-subj', `/O=${group}/CN=${name}`, '-days', '30', '-addext', 'extendedKeyUsage=clientAuth'];
  await output('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-noenc', ...issued, ...wanted], { directory });
  const users = [
    { name, user: { 'client-certificate-data': base64(`${name}.crt`), 'client-key-data': base64(`${name}.key`) } },
    { name: master.name, user: { token } },
  ];
  const context = (name: string, path: string, user: Identity) => ({
    cluster: { name, cluster: { server: `${server}${path}`, 'certificate-authority-data': base64('client-ca.crt') } },
    context: { name, context: { cluster: name, user } },
  });
  const contexts = [
    context('base', '', 'kcp-admin'),
    context('root', '/clusters/root', 'kcp-admin'),
    context('shard-base', '', 'shard-admin'),
    context('system:admin', '/clusters/system:admin', 'shard-admin'),
  ];
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: contexts.map(({ cluster }) => cluster),
    users,
    contexts: contexts.map((one) => one.context),
    'current-context': 'root',
  });
}
