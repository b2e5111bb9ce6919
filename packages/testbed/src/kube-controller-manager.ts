import { request } from 'node:https';
import { Child } from './child.ts';
import type { RunningApiServer } from './kube-apiserver.ts';
import { freePort, temporaryDirectory } from './temporary.ts';
import { requireTool } from './tools/tool.ts';

/** Kubernetes' controllers that Capstan has itself. Running both would hide which of them a spec has tested. */
const capstans = [
  'certificatesigningrequest-approving-controller',
  'certificatesigningrequest-cleaner-controller',
  'certificatesigningrequest-signing-controller',
  'clusterrole-aggregation-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'resourcequota-controller',
  'root-ca-certificate-publisher-controller',
  'serviceaccount-controller',
  'serviceaccount-token-controller',
  'validatingadmissionpolicy-status-controller',
];

/** For a kube-controller-manager beside Capstan's: all of its controllers except those. */
export const controllersBesideCapstan: readonly string[] = ['*', ...capstans.map((name) => `-${name}`)];

export interface KubeControllerManagerOptions {
  /** In Kubernetes' syntax: `*` for all, `-name` for all but this one. */
  readonly controllers?: readonly string[];
  readonly args?: readonly string[];
}

/**
 * A real kube-controller-manager beside a server, Capstan or Kubernetes. It has its usual identity, and a service account for each
 * controller.
 */
export async function startKubeControllerManager(
  server: RunningApiServer,
  { controllers = ['*'], args = [] }: KubeControllerManagerOptions = {},
): Promise<AsyncDisposable & { readonly child: Child }> {
  const program = await requireTool('kube-controller-manager');
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory('kube-controller-manager'));
  const kubeconfig = await server.kubeconfigFor('/CN=system:kube-controller-manager');
  const port = await freePort();
  const child = stack.use(
    new Child('kube-controller-manager', [
      ...[program, `--kubeconfig=${kubeconfig}`, `--controllers=${controllers.join(',')}`],
      ...['--use-service-account-credentials', '--leader-elect=false', '--authentication-skip-lookup'],
      ...['--bind-address=127.0.0.1', `--secure-port=${port}`, `--cert-dir=${directory.path}`, ...args],
    ]),
  );
  await child.waitUntil('running', () => answersHealthy(port));
  const owned = stack.move();
  return { child, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Its certificate is self-signed and cannot be verified. */
function answersHealthy(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request(
      { host: '127.0.0.1', port, path: '/healthz', rejectUnauthorized: false, agent: false, timeout: 5_000 },
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
