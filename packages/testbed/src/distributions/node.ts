import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyPair } from '../certificates.ts';
import { kubeconfigText } from '../kubeconfig.ts';
import { containerdConfig, kubeletConfig } from '../kubelets/settings.ts';
import { containerdEnvironment } from '../tools/containerd.ts';
import { ask } from './api.ts';
import { authorityHash } from './certificates.ts';
import { type Layout, publicPort } from './layout.ts';
import { keepRoutes } from './network.ts';
import { listOf } from './options.ts';
import { type Processes, until } from './processes.ts';
import type { Token } from './tokens.ts';
import { writeWhole } from './whole-file.ts';

/** The control group of version 1 for the pods of this host, which the tests have made. */
export const cgroupFile = '/etc/capstan-testbed-cgroup';

interface Joined {
  readonly client: KeyPair;
  readonly serving: KeyPair;
  readonly proxy: KeyPair;
  readonly authority: string;
}

export interface JoinTarget {
  /** `https://host:port` */
  readonly url: string;
  readonly token: Token;
}

/** Runs containerd, a kubelet and a kube-proxy, as a node of the cluster that the target belongs to. */
export async function startNode(layout: Layout, processes: Processes, target: JoinTarget): Promise<void> {
  const { data, parts, node, address, settings } = layout;
  const agent = join(data, 'agent');
  for (const folder of [agent, join(agent, 'etc'), join(data, 'bin'), '/run/k3s/containerd', '/etc/cni/net.d', '/var/lib/kubelet'])
    mkdirSync(folder, { recursive: true });
  if (layout.program === 'rke2' && !existsSync(join(data, 'bin/kubectl'))) symlinkSync(parts.kubectl, join(data, 'bin/kubectl'));
  const environment = containerdEnvironment(parts.containerd);
  await startContainerd(layout, processes, environment);
  const server = await trustedAuthority(target);
  const joined = await requestIdentity(layout, target, server);
  const api = `https://${new URL(target.url).hostname}:${publicPort}`;
  const files = {
    'client-kubelet.crt': joined.client.certificate,
    'client-kubelet.key': joined.client.key,
    'serving-kubelet.crt': joined.serving.certificate,
    'serving-kubelet.key': joined.serving.key,
    'client-kube-proxy.crt': joined.proxy.certificate,
    'client-kube-proxy.key': joined.proxy.key,
    'client-ca.crt': joined.authority,
    'server-ca.crt': server,
    'kubelet.kubeconfig': kubeconfigText({ server: api, authority: server, ...joined.client }),
    'kubeproxy.kubeconfig': kubeconfigText({ server: api, authority: server, ...joined.proxy }),
    'etc/resolv.conf': 'nameserver 192.0.2.1\n',
    'etc/kubelet.json': settingsOfKubelet(layout),
  };
  for (const [name, text] of Object.entries(files)) writeWhole(join(agent, name), text, 0o600);
  const labels = listOf(settings['node-label']).join(',');
  processes.start(
    'kubelet',
    [
      ...[parts.kubelet, `--config=${agent}/etc/kubelet.json`, `--kubeconfig=${agent}/kubelet.kubeconfig`],
      ...[`--hostname-override=${node}`, `--node-ip=${address}`, ...(labels === '' ? [] : [`--node-labels=${labels}`])],
      ...listOf(settings['kubelet-arg']).map((one) => `--${one}`),
    ],
    { environment, log: join(agent, 'kubelet.log') },
  );
  processes.start(
    'kube-proxy',
    [
      ...[
        parts['kube-proxy'],
        `--kubeconfig=${agent}/kubeproxy.kubeconfig`,
        '--proxy-mode=nftables',
        `--cluster-cidr=${layout.podNetwork}`,
      ],
      ...[
        `--hostname-override=${node}`,
        '--conntrack-max-per-core=0',
        '--conntrack-tcp-timeout-established=0s',
        '--conntrack-tcp-timeout-close-wait=0s',
      ],
    ],
    { environment, log: join(agent, 'kube-proxy.log') },
  );
  await keepRoutes(layout, { url: api, authority: server, identity: joined.proxy });
}

async function startContainerd(
  { data, parts }: Layout,
  processes: Processes,
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const tree = `${parts.containerd}.tree`;
  const config = join(data, 'agent/etc/containerd.toml');
  const socket = '/run/k3s/containerd/containerd.sock';
  const cri = 'plugins."io.containerd.grpc.v1.cri".containerd';
  const text = containerdConfig(tree)
    .replace('version = 2\n', `version = 2\nroot = "${data}/agent/containerd"\nstate = "/run/k3s/containerd/state"\n`)
    // The disk of a pretended host is an overlay itself, so images cannot be.
    .replace('\n[', `\n[grpc]\n  address = "${socket}"\n\n[${cri}]\n  snapshotter = "native"\n\n[`);
  writeFileSync(config, text);
  processes.start('containerd', [parts.containerd, '--config', config], { environment, log: join(data, 'agent/containerd.log') });
  const ctr = (...args: string[]): void => {
    const command = [join(tree, 'usr/bin/ctr'), '--address', socket, '--namespace', 'k8s.io', ...args];
    execFileSync(command[0]!, command.slice(1), { env: { ...process.env, ...environment }, stdio: ['ignore', 'ignore', 'pipe'] });
  };
  await until('containerd', () => {
    ctr('version');
    return true;
  });
  const images = join(data, 'agent/images');
  for (const file of existsSync(images) ? readdirSync(images) : []) ctr('images', 'import', '--snapshotter', 'native', join(images, file));
}

function settingsOfKubelet({ data, address }: Layout): string {
  const cgroup = readFileSync(cgroupFile, 'utf8').trim();
  const agent = join(data, 'agent');
  const usual = JSON.parse(kubeletConfig({ name: '', address, podPrefix: '', cgroup }, {})) as object;
  return JSON.stringify({
    ...usual,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: `${agent}/client-ca.crt` } },
    tlsCertFile: `${agent}/serving-kubelet.crt`,
    tlsPrivateKeyFile: `${agent}/serving-kubelet.key`,
    rotateCertificates: false,
    serverTLSBootstrap: false,
    containerRuntimeEndpoint: 'unix:///run/k3s/containerd/containerd.sock',
    resolvConf: `${agent}/etc/resolv.conf`,
  });
}

/** The authority of the cluster. A token that names one is believed; another one trusts the first that answers. */
export async function trustedAuthority({ url, token }: JoinTarget): Promise<string> {
  const { hostname, port } = new URL(url);
  let authority = '';
  await until(`the authority of ${url}`, async () => {
    const { status, body } = await ask({ host: hostname, port, path: '/cacerts', rejectUnauthorized: false });
    authority = body;
    return status === 200;
  });
  if (token.hash !== undefined && authorityHash(authority) !== token.hash)
    throw new Error(`token CA hash does not match the Cluster CA certificate hash: ${token.hash} != ${authorityHash(authority)}`);
  return authority;
}

/** Asks the supervisor for something, with the name and the password of this node. */
export async function askSupervisor(
  layout: Layout,
  { url, token }: JoinTarget,
  { authority, path }: { readonly authority: string; readonly path: string },
): Promise<string> {
  const { hostname, port } = new URL(url);
  const { program, node, address } = layout;
  const { status, body } = await ask({
    host: hostname,
    port,
    path: `/v1-${program}/${path}`,
    ca: authority,
    auth: `${token.user}:${token.password}`,
    headers: { [`${program}-node-name`]: node, [`${program}-node-password`]: nodePassword(), [`${program}-node-ip`]: address },
  });
  if (status !== 200) throw new Error(`${url} answers ${status}: ${body.trim()}`);
  return body;
}

async function requestIdentity(layout: Layout, target: JoinTarget, authority: string): Promise<Joined> {
  let joined: Joined | undefined;
  await until('the certificates of this node', async () => {
    joined = JSON.parse(await askSupervisor(layout, target, { authority, path: 'kubelet' })) as Joined;
    return true;
  });
  return joined!;
}

/** The first machine of a name keeps it by this password. */
function nodePassword(): string {
  const file = '/etc/rancher/node/password';
  if (!existsSync(file)) {
    mkdirSync('/etc/rancher/node', { recursive: true });
    writeWhole(file, `${randomBytes(16).toString('hex')}\n`, 0o600);
  }
  return readFileSync(file, 'utf8').trim();
}
