import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child } from '../child.ts';
import { run } from '../command.ts';
import { cgroup } from '../hosts/cgroups.ts';
import type { Machine } from '../hosts/machine.ts';
import { temporaryDirectory } from '../temporary.ts';
import { containerdEnvironment } from '../tools/containerd.ts';
import { requireTool } from '../tools/tool.ts';
import { containerdConfig, type KubeletSettings, kubeletConfig, type NodePlace, networkConfig } from './settings.ts';

/** Directories that a node has for itself; everything else is that of the machine that runs the tests. */
const own = ['etc/cni', 'etc/kubernetes', 'opt', 'run', 'var/lib', 'var/log', 'tmp'];

export interface NodeOptions extends KubeletSettings {
  readonly place: NodePlace;
  readonly machine: Machine;
  /** Text of a kubeconfig with a bootstrap token. */
  readonly bootstrapKubeconfig: string;
  /** PEM of the authority whose certificates the kubelet accepts from its clients. */
  readonly clientAuthority: string;
  /** Text of the kubeconfig of a kube-proxy; without it, the node does not forward the addresses of services. */
  readonly proxyKubeconfig?: string | undefined;
  /** OCI archives to start with. */
  readonly images: readonly string[];
}

/** A kubelet and its containerd on a pretended machine. */
export class KubeletNode implements AsyncDisposable {
  readonly name: string;
  readonly kubelet: Child;
  readonly #owned: AsyncDisposableStack;

  private constructor(name: string, kubelet: Child, owned: AsyncDisposableStack) {
    this.name = name;
    this.kubelet = kubelet;
    this.#owned = owned;
  }

  /** Resolves when both programs run. The node becomes ready once a scheduler, controllers and somebody who approves certificates do. */
  static async start(options: NodeOptions): Promise<KubeletNode> {
    const { place, machine, images } = options;
    const [containerd, kubelet] = [await requireTool('containerd'), await requireTool('kubelet')];
    await using stack = new AsyncDisposableStack();
    const directory = stack.use(temporaryDirectory(place.name));
    stack.use(cgroup(place.cgroup));
    // Disposed first: ends all processes, and with them all mounts.
    stack.use(machine);
    writeFiles(directory.path, `${containerd}.tree`, options);
    await prepareMounts(machine, directory.path);
    const environment = containerdEnvironment(containerd);
    const inside = (name: string, ...command: string[]): Child => new Child(name, machine.command(...command), { environment });
    const runtime = inside('containerd', containerd, '--config', '/etc/kubernetes/containerd.toml');
    const ctr = async (...args: string[]): Promise<boolean> => {
      const [program, ...rest] = machine.command(join(`${containerd}.tree`, 'usr/bin/ctr'), '--namespace', 'k8s.io', ...args);
      return (await run(program, rest, { environment })).code === 0;
    };
    await runtime.waitUntil('it answers', () => ctr('version'));
    for (const image of images)
      if (!(await ctr('images', 'import', '--snapshotter', 'overlayfs', image))) throw new Error(`containerd cannot import ${image}`);
    // Only now: the images are there too.
    await machine.run('mount', '--bind', directory.join('tmp'), '/tmp');
    const child = inside(
      `kubelet of ${place.name}`,
      ...[kubelet, '--config=/etc/kubernetes/kubelet.json', '--bootstrap-kubeconfig=/etc/kubernetes/bootstrap.kubeconfig'],
      ...['--kubeconfig=/var/lib/kubelet/kubeconfig', `--hostname-override=${place.name}`, `--node-ip=${place.address}`],
    );
    if (options.proxyKubeconfig !== undefined)
      inside('kube-proxy', await requireTool('kube-proxy'), ...proxyArguments('/etc/kubernetes/proxy.kubeconfig', place.name));
    return new KubeletNode(place.name, child, stack.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
    await this.kubelet.kill();
  }
}

function writeFiles(directory: string, tree: string, options: NodeOptions): void {
  const { place, bootstrapKubeconfig, clientAuthority, proxyKubeconfig = '' } = options;
  for (const path of own) mkdirSync(join(directory, path), { recursive: true });
  for (const path of ['etc/cni/net.d', 'var/lib/kubelet']) mkdirSync(join(directory, path), { recursive: true });
  const files = {
    'etc/cni/net.d/10-pods.conflist': networkConfig(place),
    'etc/kubernetes/containerd.toml': containerdConfig(tree),
    'etc/kubernetes/kubelet.json': kubeletConfig(place, options),
    'etc/kubernetes/bootstrap.kubeconfig': bootstrapKubeconfig,
    'etc/kubernetes/proxy.kubeconfig': proxyKubeconfig,
    'etc/kubernetes/ca.crt': clientAuthority,
    'etc/kubernetes/resolv.conf': 'nameserver 192.0.2.1\n',
  };
  for (const [path, text] of Object.entries(files)) writeFileSync(join(directory, path), text, { mode: 0o600 });
}

/** The limits of the machine's connection tracking are left alone. */
export function proxyArguments(kubeconfig: string, name: string): string[] {
  const limits = ['--conntrack-max-per-core=0', '--conntrack-tcp-timeout-established=0s', '--conntrack-tcp-timeout-close-wait=0s'];
  return [`--kubeconfig=${kubeconfig}`, '--proxy-mode=nftables', '--cluster-cidr=10.88.0.0/16', `--hostname-override=${name}`, ...limits];
}

/** Puts the node's own directories in place. */
async function prepareMounts(machine: Machine, directory: string): Promise<void> {
  const commands = [
    'mount --make-rshared /',
    ...own.filter((path) => path !== 'tmp').map((path) => `mkdir -p /${path} && mount --bind ${directory}/${path} /${path}`),
    'echo 1 > /proc/sys/net/ipv4/ip_forward',
    'echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet',
  ];
  await machine.run('sh', '-ec', commands.join('\n'));
}
