import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildCapstan } from '../build.ts';
import { capstanProgram } from '../capstan.ts';
import { TestAuthority } from '../certificates.ts';
import { Child } from '../child.ts';
import { type CommandResult, output, run } from '../command.ts';
import { cgroupProblem } from '../hosts/cgroups.ts';
import { hubAddress, plugIn, startHub } from '../hosts/hub.ts';
import { Machine } from '../hosts/machine.ts';
import { controllersBesideCapstan } from '../kube-controller-manager.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../temporary.ts';
import { containerdEnvironment } from '../tools/containerd.ts';
import { requireTool, tool } from '../tools/tool.ts';
import { buildImage, busyboxImage, type ImageDescription, pauseImage } from './images.ts';
import { KubeletNode, proxyArguments } from './node.ts';

const addressOf = (index: number): string => `192.0.2.${11 + index}`;
const podPrefixOf = (index: number): string => `10.88.${1 + index}`;

export interface KubeletClusterOptions {
  readonly nodes: number;
  /** Images that every node has besides pause and busybox. */
  readonly images?: readonly ImageDescription[];
  /** Starts kube-proxies and a DNS server, so that pods reach services by address and by name. */
  readonly services?: boolean;
  readonly args?: readonly string[];
}

const needed = ['containerd', 'kubelet', 'kube-scheduler', 'kube-controller-manager', 'kubectl'] as const;

/** Why no kubelets can run here; undefined if they can. */
export async function kubeletProblem(): Promise<string | undefined> {
  const problem = (await Machine.problem()) ?? cgroupProblem();
  if (problem !== undefined) return problem;
  for (const name of needed) {
    const found = await tool(name);
    if ('missing' in found) return found.missing;
  }
  return undefined;
}

/**
 * `capstan up` with real kubelets, a real kube-scheduler and the controllers of Kubernetes that Capstan does not have. All are in a network
 * of their own: the server in a hub, and each kubelet on a pretended machine. The kubelets join with a bootstrap token.
 */
export class KubeletCluster implements AsyncDisposable {
  readonly kubeconfig: string;
  readonly nodes: readonly KubeletNode[];
  readonly #hub: Machine;
  readonly #kubectl: string;
  readonly #directory: TemporaryDirectory;
  readonly #owned: AsyncDisposableStack;

  private constructor(parts: {
    kubeconfig: string;
    nodes: readonly KubeletNode[];
    hub: Machine;
    kubectl: string;
    directory: TemporaryDirectory;
    owned: AsyncDisposableStack;
  }) {
    this.kubeconfig = parts.kubeconfig;
    this.nodes = parts.nodes;
    this.#hub = parts.hub;
    this.#kubectl = parts.kubectl;
    this.#directory = parts.directory;
    this.#owned = parts.owned;
  }

  static async start(options: KubeletClusterOptions): Promise<KubeletCluster> {
    await buildCapstan();
    const kubectl = await requireTool('kubectl');
    await using stack = new AsyncDisposableStack();
    const directory = stack.use(temporaryDirectory('kubelets'));
    const hub = stack.use(await startHub());
    const machines = await Promise.all(
      Array.from({ length: options.nodes }, (_, index) => Machine.start(`node-${index + 1}`, { isolation: 'all' })),
    );
    for (const machine of machines) stack.use(machine);
    await connect(hub, machines);
    const hosts = machines.map((_, index) => `${addressOf(index)} node-${index + 1}\n`);
    writeFileSync(directory.join('hosts'), ['127.0.0.1 localhost\n', ...hosts].join(''));
    await hub.run('mount', '--bind', directory.join('hosts'), '/etc/hosts');
    const data = directory.join('data');
    const kubeconfig = join(data, 'admin.kubeconfig');
    const capstan = [process.execPath, capstanProgram];
    const args = ['--no-node', '--data-dir', data, '--host', hubAddress, ...(options.args ?? [])];
    const server = stack.use(new Child('capstan up', hub.command(...capstan, 'up', ...args)));
    const [archives] = await Promise.all([
      imageArchives(directory, [pauseImage, busyboxImage, ...(options.images ?? [])]),
      server.waitUntil('ready', () => server.output.includes('controllers run against')),
    ]);
    const proxyKubeconfig = await startComponents({ hub, data, directory, stack }, options.services === true);
    const bootstrap = directory.join('bootstrap.kubeconfig');
    await hub.run(...capstan, 'kubelet-token', 'create', '--kubeconfig', kubeconfig, '--bootstrap-kubeconfig', bootstrap);
    const started = await Promise.allSettled(
      machines.map(async (machine, index) =>
        stack.use(
          await KubeletNode.start({
            place: {
              name: `node-${index + 1}`,
              address: addressOf(index),
              podPrefix: podPrefixOf(index),
              cgroup: `capstan-${process.pid}-${machine.pid}`,
            },
            machine,
            bootstrapKubeconfig: readFileSync(bootstrap, 'utf8'),
            clientAuthority: readFileSync(join(data, 'pki/ca.crt'), 'utf8'),
            images: archives,
            dns: options.services === true ? hubAddress : undefined,
            proxyKubeconfig,
          }),
        ),
      ),
    );
    const nodes = started.map((one) => {
      if (one.status === 'rejected') throw one.reason;
      return one.value;
    });
    const parts = { kubeconfig, nodes, hub, kubectl, directory };
    await new KubeletCluster({ ...parts, owned: stack }).#ready();
    return new KubeletCluster({ ...parts, owned: stack.move() });
  }

  /** Wraps a command so that it reaches the server, the nodes and the pods. */
  command(...command: readonly string[]): readonly [string, ...string[]] {
    return this.#hub.command(...command);
  }

  /** Writes a file for a command, and returns its path. */
  file(name: string, text: string): string {
    const path = this.#directory.join(name);
    writeFileSync(path, text);
    return path;
  }

  /** The command that runs kubectl as the administrator. */
  kubectlCommand(...args: readonly string[]): readonly [string, ...string[]] {
    return this.#hub.command(this.#kubectl, '--kubeconfig', this.kubeconfig, ...args);
  }

  /** Runs kubectl as the administrator, and returns its output. */
  kubectl(...args: readonly string[]): Promise<string> {
    const [program, ...rest] = this.kubectlCommand(...args);
    return output(program, rest);
  }

  /** Runs busybox where the server, the nodes and the pods can be reached, and returns its output. */
  async run(...command: readonly string[]): Promise<string> {
    return this.#hub.run(join(`${await requireTool('containerd')}.tree`, 'bin/busybox'), ...command);
  }

  /** The same as `kubectl`, for commands that go on. */
  startKubectl(...args: readonly string[]): Child {
    return new Child('kubectl', this.kubectlCommand(...args));
  }

  /** The same, for commands that may fail. */
  tryKubectl(...args: readonly string[]): Promise<CommandResult> {
    const [program, ...rest] = this.kubectlCommand(...args);
    return run(program, rest);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }

  /** Approves the serving certificates of the kubelets, as an administrator does, and waits until the nodes are ready. */
  async #ready(): Promise<void> {
    for (const end = Date.now() + 90_000; ; await sleep(250)) {
      await this.#approveServing();
      const found = await this.tryKubectl('get', 'nodes', '-o', 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}');
      const served = await this.tryKubectl(
        'get',
        'csr',
        '-o',
        'jsonpath={range .items[?(@.spec.signerName=="kubernetes.io/kubelet-serving")]}{.status.certificate}{"\\n"}{end}',
      );
      const certificates = served.stdout
        .trim()
        .split('\n')
        .filter((line) => line !== '');
      if (
        found.stdout.split(' ').filter((state) => state === 'True').length === this.nodes.length &&
        certificates.length >= this.nodes.length
      )
        return;
      const ended = this.nodes.find(({ kubelet }) => !kubelet.running);
      if (Date.now() > end || ended !== undefined) {
        const logs = this.nodes.map(({ name, kubelet }) => `${name}:\n${kubelet.output.slice(-3000)}`);
        throw new Error(`the nodes are not ready: ${found.stdout}\n${found.stderr}\n${logs.join('\n')}`);
      }
    }
  }

  async #approveServing(): Promise<void> {
    const pending = await this.tryKubectl(
      'get',
      'csr',
      '-o',
      'jsonpath={range .items[?(@.spec.signerName=="kubernetes.io/kubelet-serving")]}{.metadata.name} {.status.conditions[*].type}{"\\n"}{end}',
    );
    const names = pending.stdout
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.includes(' '));
    if (names.length > 0) await this.kubectl('certificate', 'approve', ...names);
  }
}

export function startKubeletCluster(options: KubeletClusterOptions): Promise<KubeletCluster> {
  return KubeletCluster.start(options);
}

/** Connects the machines to the hub, and routes the addresses of pods to their nodes. */
async function connect(hub: Machine, machines: readonly Machine[]): Promise<void> {
  for (const [index, machine] of machines.entries()) await plugIn(hub, machine, { link: `node-${index + 1}`, address: addressOf(index) });
  for (const [index] of machines.entries()) {
    const route = ['route', 'add', `${podPrefixOf(index)}.0/24`, 'via', addressOf(index)];
    await hub.run('ip', ...route);
    for (const [other, machine] of machines.entries()) if (other !== index) await machine.run('ip', ...route);
  }
}

function imageArchives(directory: TemporaryDirectory, images: readonly ImageDescription[]): Promise<string[]> {
  return Promise.all(
    images.map(async (image, index) => {
      const archive = directory.join(`image-${index}.tar`);
      await buildImage(join(`${await requireTool('containerd')}.tree`, 'bin/busybox'), image, archive);
      return archive;
    }),
  );
}

/** The names of services and pods, and nothing else: the hub is connected to no other network. */
function corefileFor(kubeconfig: string): string {
  return `.:53 {
  bind ${hubAddress}
  errors
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig ${kubeconfig}
    pods insecure
    ttl 5
  }
  cache 5
}
`;
}

interface Surroundings {
  readonly hub: Machine;
  /** The data directory of the server. */
  readonly data: string;
  readonly directory: TemporaryDirectory;
  readonly stack: AsyncDisposableStack;
}

/** The scheduler, and the controllers that Capstan does not have. Returns the kubeconfig of kube-proxies, if there are some. */
async function startComponents({ hub, data, directory, stack }: Surroundings, hasProxies: boolean): Promise<string | undefined> {
  const read = (name: string): string => readFileSync(join(data, 'pki', name), 'utf8');
  const authority = TestAuthority.of({ certificate: read('ca.crt'), key: read('ca.key') }, directory.path);
  const start = async (name: 'kube-scheduler' | 'kube-controller-manager', ...args: string[]): Promise<void> => {
    const kubeconfig = await authority.kubeconfig(`/CN=system:${name}`, `https://${hubAddress}:6443`);
    const usual = [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--authentication-skip-lookup', '--bind-address=127.0.0.1'];
    stack.use(new Child(name, hub.command(await requireTool(name), ...usual, `--cert-dir=${directory.join(name)}`, ...args)));
  };
  await start('kube-scheduler');
  await start('kube-controller-manager', `--controllers=${controllersBesideCapstan.join(',')}`, '--use-service-account-credentials');
  if (!hasProxies) return undefined;
  const kubeconfig = await authority.kubeconfig('/CN=system:kube-proxy', `https://${hubAddress}:6443`);
  // Programs in the hub, such as tests, reach services too.
  const environment = containerdEnvironment(await requireTool('containerd'));
  const proxy = hub.command(await requireTool('kube-proxy'), ...proxyArguments(kubeconfig, 'hub'));
  stack.use(new Child('kube-proxy of the hub', proxy, { environment }));
  const corefile = directory.join('Corefile');
  writeFileSync(corefile, corefileFor(join(data, 'admin.kubeconfig')));
  stack.use(new Child('coredns', hub.command(await requireTool('coredns'), '-conf', corefile)));
  return readFileSync(kubeconfig, 'utf8');
}
