import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import {
  type GPUNode,
  gpuNodeKind,
  type NodeBooking,
  type NodeScript,
  type NodeTask,
  newObject,
  nodeBookingKind,
  nodeNamespace,
  nodeScriptKind,
  nodeTaskKind,
} from '@capstan/api';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import {
  buildCapstan,
  type Child,
  type CommandResult,
  capstanProgram,
  type Host,
  HostNetwork,
  type HostOptions,
  type HostProcess,
  type TemporaryDirectory,
  temporaryDirectory,
} from '@capstan/testbed';
import { expect, vi } from 'vitest';

export const patience = { timeout: 40_000, interval: 100 };
/** The exit code of an agent that is no longer accepted. */
export const refused = 14;
export const stateDirectory = '/var/lib/capstan-node-agent';

/** In seconds: how often agents show that they are alive, and how long they may be silent. */
const heartbeat = 1;
const silent = 4;
const port = 6443;

/** Where the work of a host leaves a line for each start, and waits for a file to end. */
const record = '/var/log/work';
export const gates = '/var/gates';
const work = `#!/bin/sh
echo "$1" >> ${record}
echo one
while [ ! -e ${gates}/$1 ]; do sleep 0.05; done
echo two
`;

/** A control plane, and hosts that join it. All are in a network of their own. */
export class Fleet implements AsyncDisposable {
  readonly network: HostNetwork;
  /** For root:platform. */
  readonly platform: Client;
  readonly directory: TemporaryDirectory;
  readonly #owned: AsyncDisposableStack;
  #data: string;
  #server: Child;

  private constructor(parts: {
    network: HostNetwork;
    platform: Client;
    directory: TemporaryDirectory;
    data: string;
    server: Child;
    owned: AsyncDisposableStack;
  }) {
    this.network = parts.network;
    this.platform = parts.platform;
    this.directory = parts.directory;
    this.#data = parts.data;
    this.#server = parts.server;
    this.#owned = parts.owned;
  }

  static async start(): Promise<Fleet> {
    await buildCapstan();
    await using stack = new AsyncDisposableStack();
    const directory = stack.use(temporaryDirectory('fleet'));
    const network = stack.use(await HostNetwork.create());
    const data = directory.join('data');
    writeFileSync(directory.join('capstan.yaml'), settings(network.hub));
    const server = startServer(network, { data, config: directory.join('capstan.yaml') });
    stack.defer(() => server.stop());
    await isReady(server);
    const connection = connectionOf(loadKubeconfig({ path: `${data}/admin.kubeconfig` }));
    const client = stack.use(new Client({ ...connection, server: `https://127.0.0.1:${await network.forward(port)}` }));
    const platform = client.cluster('root:platform');
    const fleet = new Fleet({ network, platform, directory, data, server, owned: stack.move() });
    await vi.waitFor(() => fleet.createScript('work', work), patience);
    return fleet;
  }

  /** Runs `capstan` as the administrator. */
  capstan(...args: string[]): Promise<CommandResult> {
    return this.network.run([process.execPath, capstanProgram, ...args], { timeout: 60_000, environment: this.#environment });
  }

  /** The same, for commands that go on. */
  follow(...args: string[]): Child {
    return this.start([process.execPath, capstanProgram, ...args]);
  }

  /** Starts any program as the administrator. */
  start(command: readonly string[]): Child {
    return this.network.start(command.join(' '), command, { environment: this.#environment });
  }

  /** Ends the control plane, as in a power cut or politely, and starts it again. */
  async restart({ kill = false, meanwhile = async (): Promise<void> => {} } = {}): Promise<void> {
    if (kill) await killTree(this.#server);
    else await this.#server.stop(20_000);
    await meanwhile();
    this.#server = startServer(this.network, { data: this.#data, config: this.directory.join('capstan.yaml') });
    const server = this.#server;
    this.#owned.defer(() => server.stop());
    await isReady(server);
  }

  /** Saves everything; the result brings the control plane back to that, with the same keys. */
  async snapshot(name: string): Promise<() => Promise<void>> {
    const file = this.directory.join(`${name}.ndjson`);
    expect(await this.capstan('snapshot', 'save', file, '--data-dir', this.#data)).toMatchObject({ code: 0 });
    return () =>
      this.restart({
        meanwhile: async () => {
          const fresh = this.directory.join(name);
          cpSync(`${this.#data}/pki`, `${fresh}/pki`, { recursive: true });
          expect(await this.capstan('snapshot', 'restore', file, '--data-dir', fresh)).toMatchObject({ code: 0 });
          this.#data = fresh;
        },
      });
  }

  async addHost(name: string, options: HostOptions = {}): Promise<Host> {
    const environment = { CAPSTAN_NODE_HEARTBEAT_SECONDS: String(heartbeat) };
    const host = await this.network.addHost(name, { ...options, environment });
    host.write('/usr/local/bin/capstan', `#!/bin/sh\nexec '${process.execPath}' '${capstanProgram}' "$@"\n`, 0o755);
    host.write(`${gates}/none`, '');
    return host;
  }

  /** Prints the command that makes a host the node of this name. */
  async enroll(node: string): Promise<string> {
    const { code, stdout, stderr } = await this.capstan('node', 'enroll', node, '--installed');
    if (code !== 0) throw new Error(stderr);
    return stdout.trim();
  }

  /** A host with four GPUs that has joined by the printed command. */
  async joined(name: string, options: HostOptions = {}): Promise<{ host: Host; agent: HostProcess }> {
    const host = await this.addHost(name, options);
    declareGpus(host);
    const agent = join(host, await this.enroll(name));
    await connected(agent);
    await this.state(name, 'True');
    return { host, agent };
  }

  async createScript(name: string, content: string): Promise<void> {
    await this.platform.resource<NodeScript>(nodeScriptKind).create(newObject(nodeScriptKind, { metadata: { name }, spec: { content } }));
  }

  node(name: string): Promise<GPUNode> {
    return this.platform.resource<GPUNode>(gpuNodeKind).get(name);
  }

  /** Resolves when the condition `Ready` of a node has this status. */
  async state(name: string, status: 'True' | 'False' | 'Unknown'): Promise<void> {
    await vi.waitFor(async () => {
      const { status: found } = await this.node(name);
      expect(found?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe(status);
    }, patience);
  }

  /** Resolves when a condition of a node has this reason, with its message. */
  async reason(name: string, condition: string, reason: string): Promise<string> {
    return vi.waitFor(async () => {
      const found = (await this.node(name)).status?.conditions?.find(({ type }) => type === condition);
      expect(found, JSON.stringify(found)).toMatchObject({ reason });
      return found!.message;
    }, patience);
  }

  /** Starts a task on a node; by default, the work that waits for `finish`. */
  async runTask(node: string, name: string, script = 'work'): Promise<NodeTask> {
    const spec = { type: 'process.run', attempt: 1, cancelled: false, deadline: '1h', processRun: { script, arguments: [name] } } as const;
    const object: NodeTask = {
      apiVersion: `${nodeTaskKind.group}/${nodeTaskKind.version}`,
      kind: nodeTaskKind.kind,
      metadata: { name },
      spec,
    };
    return this.#tasks(node).create(object);
  }

  task(node: string, name: string): Promise<NodeTask> {
    return this.#tasks(node).get(name);
  }

  async cancel(node: string, name: string): Promise<void> {
    await this.#tasks(node).patch(name, { type: 'merge', patch: { spec: { cancelled: true } } });
  }

  /** Resolves when a task has this phase. */
  async phase(node: string, name: string, phase: string): Promise<NodeTask> {
    return vi.waitFor(async () => {
      const task = await this.task(node, name);
      expect(task.status, JSON.stringify(task.status)).toMatchObject({ phase });
      return task;
    }, patience);
  }

  /** Orders of two GPUs each, by a tenant, until all are granted. */
  async order(...names: string[]): Promise<void> {
    const environment = { KUBECONFIG: this.directory.join('tenant.kubeconfig') };
    cpSync(`${this.#data}/admin.kubeconfig`, environment.KUBECONFIG);
    const tenant = async (...args: string[]): Promise<void> => {
      const { code, stderr } = await this.network.run([process.execPath, capstanProgram, ...args], { timeout: 60_000, environment });
      if (code !== 0) throw new Error(`capstan ${args.join(' ')}: ${stderr}`);
    };
    await tenant('offering', 'create', 'pair', '--model', 'H200', '--gpus', '2');
    await tenant('ws', 'use', 'root:main');
    await tenant('ws', 'create', 'vision', '--type', 'project', '--enter');
    for (const name of names) await tenant('allocation', 'create', name, '--offering', 'pair', '--watch');
  }

  /** The devices that are booked, each with its node and the allocation that has it. None is booked twice. */
  async bookings(): Promise<readonly string[]> {
    const { items } = await this.platform.resource<NodeBooking>(nodeBookingKind).list();
    const all = items.flatMap(({ metadata, spec }) =>
      spec.entries.flatMap(({ allocation, state, devices }) =>
        devices.map((device) => [metadata.name, JSON.stringify(device), state, allocation.name] as const),
      ),
    );
    expect(new Set(all.map(([node, device]) => `${node} ${device}`)).size).toBe(all.length);
    return all.map((parts) => parts.join(' ')).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }

  #tasks(node: string) {
    return this.platform.resource<NodeTask>(nodeTaskKind).in(nodeNamespace(node));
  }

  get #environment(): Readonly<Record<string, string>> {
    return { KUBECONFIG: `${this.#data}/admin.kubeconfig` };
  }
}

/** Runs the command that `capstan node enroll` printed. */
export function join(host: Host, enrolment: string): HostProcess {
  return host.start('agent', ['sh', '-c', `exec ${enrolment}`]);
}

/** Starts the agent of a host that has joined before. */
export function startAgent(host: Host): HostProcess {
  return host.start('agent', ['capstan', 'node-agent']);
}

export const connected = (agent: HostProcess): Promise<void> =>
  agent.waitUntil('its tunnel is open', () => /the tunnel to \S+ is open/.test(agent.output));

export function declareGpus(host: Host): void {
  host.write(`${stateDirectory}/gpus.yaml`, 'gpus:\n  - { model: H200, count: 4, memory: 141Gi, linked: true }\n');
}

/** Resolves when the work of a task has begun. */
export async function begun(host: Host, task: string): Promise<void> {
  await vi.waitFor(() => expect(starts(host, task)).toBeGreaterThan(0), patience);
}

/** How many times the work of a task has begun on a host. */
export function starts(host: Host, task: string): number {
  const file = host.path(record);
  return existsSync(file)
    ? host
        .read(record)
        .split('\n')
        .filter((line) => line === task).length
    : 0;
}

/** Lets the work of a task end. */
export function finish(host: Host, task: string): void {
  host.write(`${gates}/${task}`, '');
}

function settings(address: string): string {
  return `apiserver:
  listen: { host: ${address}, port: ${port}, names: [127.0.0.1] }
platformControllers:
  nodes: { silentSeconds: ${silent} }
`;
}

/** kill -9 of a program and those that it started, as in a power cut. */
async function killTree(program: Child): Promise<void> {
  const children = readFileSync(`/proc/${program.pid}/task/${program.pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  await program.kill();
  for (const pid of children) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended with its parent.
    }
  }
}

function startServer(network: HostNetwork, { data, config }: { readonly data: string; readonly config: string }): Child {
  return network.start('capstan up', [process.execPath, capstanProgram, 'up', '--no-node', '--data-dir', data, '--config', config]);
}

const isReady = (server: Child): Promise<void> =>
  server.waitUntil('its controllers run', () => server.output.includes('platform controllers run'));
