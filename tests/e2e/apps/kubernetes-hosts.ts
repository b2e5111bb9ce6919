import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type AdapterMember, type AdapterRegistration, builtInAdapters } from '@capstan/apps';
import type { JsonObject } from '@capstan/machinery/objects';
import {
  buildKubeadmRelease,
  buildRelease,
  distributionEnvironment,
  distributionProblem,
  type Host,
  HostNetwork,
  prepareHost,
  startRuntime,
  temporaryDirectory,
  writeKubeletPatch,
} from '@capstan/testbed';
import { PlanRunner } from './plan-runner.ts';

export type Program = 'rke2' | 'k3s' | 'kubeadm';

export const registration: AdapterRegistration = builtInAdapters.find(({ adapter }) => adapter.name === 'kubernetes')!;

/** Why no cluster can be tested here; undefined if one can. */
export const clusterProblem = async (needs: { readonly builds?: boolean } = {}): Promise<string | undefined> =>
  (await HostNetwork.problem()) ?? (await distributionProblem(needs));

/** kubectl on a server, as the administrator. */
const administrators: Readonly<Record<Program, readonly string[]>> = {
  rke2: ['/var/lib/rancher/rke2/bin/kubectl', '--kubeconfig', '/etc/rancher/rke2/rke2.yaml'],
  k3s: ['k3s', 'kubectl', '--kubeconfig', '/etc/rancher/k3s/k3s.yaml'],
  kubeadm: ['/var/lib/capstan-apps/kubeadm/bin/kubectl', '--kubeconfig', '/etc/kubernetes/admin.conf'],
};

export interface ClusterOptions {
  readonly parameters?: JsonObject;
  /** Whether the clocks of hosts can be set. */
  readonly clock?: boolean;
}

/** Pretended hosts, and an instance that the plans of the adapter deploy on them. */
export class KubernetesHosts implements AsyncDisposable {
  readonly program: Program;
  readonly hosts: ReadonlyMap<string, Host>;
  readonly runner: PlanRunner;
  readonly #owned: AsyncDisposableStack;

  private constructor(parts: { program: Program; hosts: ReadonlyMap<string, Host>; runner: PlanRunner; owned: AsyncDisposableStack }) {
    this.program = parts.program;
    this.hosts = parts.hosts;
    this.runner = parts.runner;
    this.#owned = parts.owned;
  }

  /** The hosts are called `gpu-1`, `gpu-2` and so on. */
  static async start(program: Program, count: number, { parameters = {}, clock = false }: ClusterOptions = {}): Promise<KubernetesHosts> {
    await using stack = new AsyncDisposableStack();
    const directory = stack.use(temporaryDirectory('release'));
    const release = program === 'kubeadm' ? await buildKubeadmRelease(directory.path) : await buildRelease(program, directory.path);
    const hashes = Object.entries(release.files).map(
      ([name, path]) => [name, createHash('sha256').update(readFileSync(path)).digest('hex')] as const,
    );
    const environment = await distributionEnvironment();
    const network = await HostNetwork.create();
    const hosts = new Map<string, Host>();
    // The groups of pods can only be removed when their hosts are gone.
    const groups = stack.use(new AsyncDisposableStack());
    stack.use(network);
    for (let index = 1; index <= count; index++) {
      const host = await network.addHost(`gpu-${index}`, { environment, clock });
      hosts.set(host.name, host);
      groups.use(await prepareHost(host));
      if (program === 'kubeadm') {
        await startRuntime(host);
        writeKubeletPatch(host);
      }
    }
    const instance = {
      id: 'f0a1',
      name: 'lab',
      namespace: 'default',
      workspace: 'root:main:vision',
      app: program,
      version: release.version,
      artifacts: Object.fromEntries(hashes),
      placement: {},
      parameters,
    };
    const artifacts = new Map(hashes.map(([name, hash]) => [hash, release.files[name]!]));
    const runner = stack.use(new PlanRunner(registration, instance, { hosts, artifacts }));
    return new KubernetesHosts({ program, hosts, runner, owned: stack.move() });
  }

  host(name: string): Host {
    return this.hosts.get(name)!;
  }

  /** Adds a member that the next operation deploys. */
  add(component: 'server' | 'agent', node: string): void {
    const member: AdapterMember = {
      name: `lab-${node}`,
      component,
      allocation: node,
      node: { name: node, address: this.host(node).address, hostname: node, cpus: 2, memoryMiB: 4096, gpus: [], isReady: true },
      state: 'pending',
      isWanted: true,
      hasJoined: false,
    };
    this.runner.members.push(member);
  }

  /** Writes the settings of this machine for the kubelet of kubeadm, which a removal deletes. */
  settle(node: string): void {
    writeKubeletPatch(this.host(node));
  }

  /** Lets the next operation remove a member. */
  drop(node: string): void {
    const index = this.runner.members.findIndex(({ name }) => name === `lab-${node}`);
    this.runner.members[index] = { ...this.runner.members[index]!, isWanted: false };
  }

  /** Runs kubectl on the first host, as the administrator. */
  async kubectl(...args: string[]): Promise<string> {
    const command = [...administrators[this.program], ...args];
    const { code, stdout, stderr } = await this.host('gpu-1').run(command, { timeout: 60_000 });
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  }

  /** The names of the nodes that are ready. */
  async readyNodes(): Promise<readonly string[]> {
    const template = '{range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status} {end}';
    const nodes = (await this.kubectl('get', 'nodes', '-o', `jsonpath=${template}`)).split(' ');
    return nodes.flatMap((node) => (node.endsWith('=True') ? [node.slice(0, -'=True'.length)] : []));
  }

  /** Starts a pod that sleeps, and waits until it is ready. */
  async runPod(name: string, container: JsonObject = {}): Promise<void> {
    const image = { image: 'capstan.test/busybox:1', imagePullPolicy: 'Never', command: ['sleep', '100000'] };
    const spec = { terminationGracePeriodSeconds: 0, containers: [{ name, ...image, ...container }] };
    await this.kubectl('run', name, `--image=${image.image}`, `--overrides=${JSON.stringify({ spec })}`);
    await this.kubectl('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=45s');
  }

  /** Runs one of the adapter's scripts on a host, and returns its exit code and output. */
  async script(node: string, name: string, ...args: string[]): Promise<{ readonly code: number; readonly output: string }> {
    const { content } = registration.scripts().find((script) => script.name === `kubernetes-${name}`)!;
    const path = `/run/kubernetes-${name}`;
    this.host(node).write(path, content, 0o755);
    const { code, stdout, stderr } = await this.host(node).run([path, this.program, ...args], { timeout: 60_000 });
    return { code, output: stdout + stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
