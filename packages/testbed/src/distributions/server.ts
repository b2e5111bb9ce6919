import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { askApi } from './api.ts';
import { ensureAuthorities, ensureCertificate, writeKubeconfig } from './certificates.ts';
import { etcdData, removeEtcdMember, restoreSnapshot, startEtcd } from './etcd.ts';
import { passOn } from './front.ts';
import { type Layout, publicPort } from './layout.ts';
import { askSupervisor, type JoinTarget, startNode, trustedAuthority } from './node.ts';
import { Processes, until } from './processes.ts';
import { createSupervisor } from './supervisor.ts';
import { ensureTokens, parseToken } from './tokens.ts';
import { writeWhole } from './whole-file.ts';

const resetFlag = ({ data }: Layout): string => join(data, 'server/db/reset-flag');

/** `server --cluster-reset --cluster-reset-restore-path=FILE`: replaces the data, and ends. */
export function resetServer(layout: Layout): void {
  if (layout.settings['server'] !== undefined)
    throw new Error('cannot perform cluster-reset while server URL is set - remove server from configuration before resetting');
  if (existsSync(resetFlag(layout)))
    throw new Error(`cluster-reset was successfully performed, please remove the cluster-reset flag and start ${layout.program} normally`);
  restoreSnapshot(layout, String(layout.settings['cluster-reset-restore-path']));
  writeFileSync(resetFlag(layout), '');
  console.log('Managed etcd cluster membership has been reset, restart without --cluster-reset flag now.');
}

/** Runs the control plane, and a node beside it. */
export async function runServer(layout: Layout): Promise<void> {
  const processes = new Processes();
  endWith(processes);
  mkdirSync(join(layout.data, 'server'), { recursive: true, mode: 0o700 });
  mkdirSync(dirname(layout.kubeconfig), { recursive: true });
  const cluster = await joinCluster(layout);
  ensureAuthorities(layout);
  const passwords = ensureTokens(layout);
  issueAll(layout);
  rmSync(resetFlag(layout), { force: true });
  await startEtcd(layout, processes, cluster);
  startApi(layout, processes);
  await until('kube-apiserver', async () => (await askApi(layout, 'GET', '/readyz')).status === 200);
  const supervisor = createSupervisor({ layout, passwords, ...(layout.program === 'k3s' && { otherwise: passOn(layout) }) });
  await new Promise<void>((resolve) => supervisor.listen(layout.supervisorPort, resolve));
  startControllers(layout, processes);
  writeKubeconfig(layout, layout.kubeconfig, { name: 'client-admin', port: publicPort });
  console.log(`${layout.program} is up and running`);
  await startNode(layout, processes, {
    url: `https://127.0.0.1:${layout.supervisorPort}`,
    token: { user: 'node', password: passwords.node },
  });
  removeMembers(layout);
}

/** A server that joins another takes over its authorities, and returns the members of its etcd. One that has data has joined before. */
async function joinCluster(layout: Layout): Promise<string | undefined> {
  const { settings, tls } = layout;
  if (settings['server'] === undefined || existsSync(etcdData(layout))) return undefined;
  const target: JoinTarget = { url: String(settings['server']), token: parseToken(String(settings['token']), 'server') };
  const authority = await trustedAuthority(target);
  const files = JSON.parse(await askSupervisor(layout, target, { authority, path: 'server-bootstrap' })) as Readonly<
    Record<string, string>
  >;
  mkdirSync(tls, { recursive: true, mode: 0o700 });
  for (const [name, text] of Object.entries(files)) writeWhole(join(tls, name), text, 0o600);
  return askSupervisor(layout, target, { authority, path: 'etcd-join' });
}

function issueAll(layout: Layout): void {
  const { address, names, node, serviceAddress } = layout;
  const service = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local'];
  ensureCertificate(layout, 'serving-kube-apiserver', {
    authority: 'server-ca',
    subject: '/CN=kube-apiserver',
    names: [...new Set(['127.0.0.1', 'localhost', address, serviceAddress, node, ...service, ...names])],
  });
  const clients = {
    'client-admin': '/O=system:masters/CN=system:admin',
    'client-controller': '/CN=system:kube-controller-manager',
    'client-scheduler': '/CN=system:kube-scheduler',
    'client-kube-apiserver': '/O=system:masters/CN=system:apiserver',
  };
  for (const [file, subject] of Object.entries(clients)) ensureCertificate(layout, file, { authority: 'client-ca', subject });
  ensureCertificate(layout, 'client-auth-proxy', { authority: 'request-header-ca', subject: '/CN=system:auth-proxy' });
}

function startApi(layout: Layout, processes: Processes): void {
  const { parts, tls, data } = layout;
  const file = (name: string): string => join(tls, name);
  processes.start(
    'kube-apiserver',
    [
      ...[
        parts['kube-apiserver'],
        '--etcd-servers=http://127.0.0.1:2379',
        `--secure-port=${layout.apiPort}`,
        `--advertise-address=${layout.address}`,
      ],
      ...[`--client-ca-file=${file('client-ca.crt')}`, `--tls-cert-file=${file('serving-kube-apiserver.crt')}`],
      ...[
        `--tls-private-key-file=${file('serving-kube-apiserver.key')}`,
        '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      ],
      ...[`--service-account-key-file=${file('service.key')}`, `--service-account-signing-key-file=${file('service.key')}`],
      ...[`--kubelet-client-certificate=${file('client-kube-apiserver.crt')}`, `--kubelet-client-key=${file('client-kube-apiserver.key')}`],
      ...[`--requestheader-client-ca-file=${file('request-header-ca.crt')}`, '--requestheader-allowed-names=system:auth-proxy'],
      ...[
        '--requestheader-username-headers=X-Remote-User',
        '--requestheader-group-headers=X-Remote-Group',
        '--requestheader-extra-headers-prefix=X-Remote-Extra-',
      ],
      ...['--authorization-mode=Node,RBAC', '--enable-admission-plugins=NodeRestriction', '--allow-privileged=true'],
      ...[`--service-cluster-ip-range=${layout.serviceNetwork}`, '--kubelet-preferred-address-types=InternalIP'],
    ],
    { log: join(data, 'server/kube-apiserver.log') },
  );
}

function startControllers(layout: Layout, processes: Processes): void {
  const { parts, tls, data } = layout;
  const isAlone = layout.settings['server'] === undefined;
  const start = (name: 'kube-controller-manager' | 'kube-scheduler', certificate: string, ...args: string[]): void => {
    const kubeconfig = join(data, `server/${name}.kubeconfig`);
    writeKubeconfig(layout, kubeconfig, { name: certificate, port: layout.apiPort });
    const usual = [`--kubeconfig=${kubeconfig}`, `--leader-elect=${!isAlone}`, '--bind-address=127.0.0.1', '--authentication-skip-lookup'];
    processes.start(name, [parts[name], ...usual, ...args], { log: join(data, `server/${name}.log`) });
  };
  start('kube-scheduler', 'client-scheduler');
  start(
    'kube-controller-manager',
    'client-controller',
    ...['--use-service-account-credentials', '--allocate-node-cidrs', `--cluster-cidr=${layout.podNetwork}`],
    ...[`--service-account-private-key-file=${join(tls, 'service.key')}`, `--root-ca-file=${join(tls, 'server-ca.crt')}`],
    ...['crt', 'key'].map(
      (part) => `--cluster-signing-kube-apiserver-client-${part === 'crt' ? 'cert' : 'key'}-file=${join(tls, `client-ca.${part}`)}`,
    ),
    ...['--node-monitor-grace-period=20s', '--node-monitor-period=2s'],
  );
}

/** Removes members of etcd whose nodes ask for it, as `etcd.<program>.cattle.io/remove` says. */
function removeMembers(layout: Layout): void {
  const prefix = `etcd.${layout.program}.cattle.io`;
  const look = async (): Promise<void> => {
    const { status, body } = await askApi(layout, 'GET', '/api/v1/nodes');
    if (status !== 200) return;
    const { items } = JSON.parse(body) as { items: { metadata: { name: string; annotations?: Record<string, string> } }[] };
    for (const { metadata } of items) {
      const { name, annotations = {} } = metadata;
      if (name === layout.node || annotations[`${prefix}/remove`] !== 'true' || annotations[`${prefix}/removed-node-name`] !== undefined)
        continue;
      await removeEtcdMember(name);
      await askApi(layout, 'PATCH', `/api/v1/nodes/${name}`, { metadata: { annotations: { [`${prefix}/removed-node-name`]: name } } });
    }
  };
  setInterval(() => void look().catch(() => undefined), 1_000);
}

export function endWith(processes: Processes): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void processes.end().then(() => process.exit(0)));
}
