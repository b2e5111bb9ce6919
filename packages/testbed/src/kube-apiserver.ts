import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { TestAuthority, writeSigningKey } from './certificates.ts';
import { Child } from './child.ts';
import { type EtcdCluster, startEtcd } from './etcd.ts';
import { type Connection, readConnection } from './kubeconfig.ts';
import { freePort, temporaryDirectory } from './temporary.ts';
import { requireTool } from './tools/tool.ts';

/** A server under test, Capstan or Kubernetes. */
export interface RunningApiServer extends AsyncDisposable {
  readonly kubeconfig: string;
  readonly url: string;
  /** Writes a kubeconfig for another user, such as `/O=group/CN=name`, and returns its path. It is deleted with the server. */
  kubeconfigFor(subject: string): Promise<string>;
  /** The processes whose memory counts: the server and its store. */
  readonly pids: readonly number[];
  /** Ends the server and the store started with it. The data stays. */
  stop(): Promise<void>;
  /** Starts both again on the same data and port; resolves when ready. */
  start(): Promise<void>;
}

export interface KubeApiserverOptions {
  /** The etcd to use, which outlives the server. By default it starts its own. */
  readonly etcd?: EtcdCluster;
  readonly args?: readonly string[];
}

/** A real kube-apiserver on a real etcd, with an administrator's kubeconfig. */
export async function startKubeApiserver(options: KubeApiserverOptions = {}): Promise<RunningApiServer> {
  const program = await requireTool('kube-apiserver');
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory('kube-apiserver'));
  const etcd = options.etcd ?? stack.use(await startEtcd());
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const authority = await TestAuthority.create(directory.path);
  const server = await authority.issue('/CN=kube-apiserver', ['127.0.0.1', '10.96.0.1']);
  await writeSigningKey(directory.path, 'accounts.key');
  const files = {
    'server.crt': server.certificate,
    'server.key': server.key,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(directory.join(name), text, { mode: 0o600 });
  const command = [
    ...[program, `--etcd-servers=${etcd.endpoints.join(',')}`, `--secure-port=${port}`, '--bind-address=127.0.0.1'],
    ...[`--client-ca-file=${directory.join('ca.crt')}`, `--tls-cert-file=${directory.join('server.crt')}`],
    ...[`--tls-private-key-file=${directory.join('server.key')}`, '--service-account-issuer=https://kubernetes.default.svc'],
    ...[
      `--service-account-key-file=${directory.join('accounts.key')}`,
      `--service-account-signing-key-file=${directory.join('accounts.key')}`,
    ],
    ...['--authorization-mode=RBAC', '--service-cluster-ip-range=10.96.0.0/16', '--allow-privileged=true'],
    ...['--disable-admission-plugins=ServiceAccount', ...(options.args ?? [])],
  ];
  const kubeconfig = await authority.kubeconfig('/O=system:masters/CN=admin', url);
  const connection = readConnection(kubeconfig);
  let child = new Child('kube-apiserver', command);
  stack.defer(() => child.stop());
  const ready = (): Promise<void> => child.waitUntil('ready', () => answersReady(connection));
  await ready();
  const owned = stack.move();
  return {
    kubeconfig,
    url,
    get pids() {
      return [child.pid, ...etcd.pids];
    },
    kubeconfigFor: (subject) => authority.kubeconfig(subject, url),
    stop: async () => {
      await child.stop();
      if (options.etcd === undefined) await etcd.stop();
    },
    start: async () => {
      if (options.etcd === undefined) await etcd.restart(0);
      child = new Child('kube-apiserver', command);
      await ready();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Whether /readyz currently answers 200. */
export function answersReady(connection: Connection): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request(
      {
        host: connection.host,
        port: connection.port,
        path: '/readyz',
        ca: connection.ca,
        cert: connection.certificate,
        key: connection.key,
        rejectUnauthorized: connection.ca !== undefined,
        agent: false,
        timeout: 5_000,
      },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode === 200);
      },
    );
    asked.on('error', () => resolve(false));
    asked.on('timeout', () => asked.destroy());
    asked.end();
  });
}
