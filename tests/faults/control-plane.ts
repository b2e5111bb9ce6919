import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import { buildCapstan, type Child, capstanProgram, HostNetwork, type TemporaryDirectory, temporaryDirectory } from '@capstan/testbed';
import { eventually } from './eventually.ts';

const port = 6443;
const project = 'root:main:vision';
/** In seconds: how long a node may be silent. */
const silent = 4;

const settings = (address: string): string => `apiserver:
  listen: { host: ${address}, port: ${port}, names: [127.0.0.1] }
  runtimeConfig: { admissionregistration.k8s.io/v1beta1: true }
platformControllers:
  nodes: { silentSeconds: ${silent} }
`;

interface Allocated {
  readonly metadata: { readonly name: string };
  readonly status: { readonly parts: readonly { readonly node: string }[] };
}

/** `capstan up` in a network of its own, with a project of a tenant. It can be killed, as a whole or in part. */
export class ControlPlane implements AsyncDisposable {
  readonly network: HostNetwork;
  /** For root:platform. */
  readonly platform: Client;
  /** For the project. */
  readonly tenant: Client;
  readonly #directory: TemporaryDirectory;
  readonly #owned: AsyncDisposableStack;
  #server: Child;

  private constructor(parts: {
    network: HostNetwork;
    client: Client;
    directory: TemporaryDirectory;
    server: Child;
    owned: AsyncDisposableStack;
  }) {
    this.network = parts.network;
    this.platform = parts.client.cluster('root:platform');
    this.tenant = parts.client.cluster(project);
    this.#directory = parts.directory;
    this.#server = parts.server;
    this.#owned = parts.owned;
  }

  static async start(): Promise<ControlPlane> {
    await buildCapstan();
    await using stack = new AsyncDisposableStack();
    const directory = stack.use(temporaryDirectory('faults'));
    const network = stack.use(await HostNetwork.create());
    writeFileSync(directory.join('capstan.yaml'), settings(network.hub));
    const server = await up(network, directory);
    stack.defer(() => server.stop(15_000));
    const connection = connectionOf(loadKubeconfig({ path: directory.join('data/admin.kubeconfig') }));
    const client = stack.use(new Client({ ...connection, server: `https://127.0.0.1:${await network.forward(port)}` }));
    const made = new ControlPlane({ network, client, directory, server, owned: stack.move() });
    // The platform is installed some time after the first start.
    await eventually('the offering', () => made.run('offering', 'create', 'machine', '--gpus', '1', '--exclusive'));
    await made.run('ws', 'use', 'root:main');
    await made.run('ws', 'create', 'vision', '--type', 'project', '--enter');
    return made;
  }

  /** The path of one of its files. */
  path(name: string): string {
    return this.#directory.join(name);
  }

  /** kill -9 of everything, as in a power cut. */
  async kill(): Promise<void> {
    const children = this.#children();
    await this.#server.kill();
    for (const pid of children) end(pid);
  }

  /** Starts it again on the same data. */
  async start(): Promise<void> {
    this.#server = await up(this.network, this.#directory);
    const server = this.#server;
    this.#owned.defer(() => server.stop(15_000));
  }

  /** Saves a snapshot, and loses everything that is stored. */
  async lose(): Promise<void> {
    writeFileSync(this.path('passphrase'), 'a passphrase of the faults\n', { mode: 0o600 });
    await this.run('snapshot', 'save', ...this.#snapshot());
    await this.kill();
    rmSync(this.path('data/store'), { recursive: true });
  }

  /** Starts again with the snapshot. */
  async restore(): Promise<void> {
    await this.run('snapshot', 'restore', ...this.#snapshot());
    rmSync(this.path('snapshot'));
    await this.start();
  }

  #snapshot(): readonly string[] {
    return [this.path('snapshot'), '--data-dir', this.path('data'), '--passphrase-file', this.path('passphrase')];
  }

  /** kill -9 of the controllers of the platform alone, which `capstan up` starts again. */
  async killControllers(): Promise<void> {
    const found = this.#children().filter((pid) => commandOf(pid).includes('platform-controllers'));
    if (found.length === 0) throw new Error(`no platform-controllers among ${this.#children().map(commandOf).join('; ')}`);
    for (const pid of found) end(pid);
    await eventually(
      'new controllers',
      async () => this.#children().some((pid) => !found.includes(pid) && commandOf(pid).includes('platform-controllers')) || undefined,
    );
  }

  /** Runs `capstan`, as the administrator in the project, and returns its output. */
  async run(...args: string[]): Promise<string> {
    const environment = { KUBECONFIG: this.#directory.join('data/admin.kubeconfig'), HOME: this.#directory.path };
    const { code, stdout, stderr } = await this.network.run([process.execPath, capstanProgram, ...args], { timeout: 60_000, environment });
    if (code !== 0) throw new Error(`capstan ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  }

  /** Orders a node for the tenant. Returns its name. */
  async order(allocation: string): Promise<string> {
    await this.run('allocation', 'create', allocation, '--offering', 'machine', '--watch');
    const { items } = JSON.parse(await this.run('allocation', 'list', '-o', 'json')) as { items: readonly Allocated[] };
    return items.find(({ metadata }) => metadata.name === allocation)!.status.parts[0]!.node;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }

  #children(): number[] {
    const { pid } = this.#server;
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  }
}

async function up(network: HostNetwork, directory: TemporaryDirectory): Promise<Child> {
  const place = ['--data-dir', directory.join('data'), '--config', directory.join('capstan.yaml')];
  const server = network.start('capstan up', [process.execPath, capstanProgram, 'up', '--no-node', ...place]);
  await server.waitUntil('its controllers run', () => server.output.includes('platform controllers run'));
  return server;
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
