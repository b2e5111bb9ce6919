import { readFileSync, writeFileSync } from 'node:fs';
import {
  type App,
  type AppInstance,
  type AppMember,
  type AppOperation,
  appInstanceKind,
  appKind,
  appMemberKind,
  appOperationKind,
  type NodeTask,
  newObject,
  nodeTaskKind,
} from '@capstan/api';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import type { JsonObject, KubeObject } from '@capstan/machinery/objects';
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

const port = 6443;
export const project = 'root:main:vision';
const offering = 'machine';
const patience = { timeout: 60_000, interval: 200 };

const settings = (address: string): string => `apiserver:
  listen: { host: ${address}, port: ${port}, names: [127.0.0.1] }
platformControllers:
  nodes: { silentSeconds: 8 }
`;

/** A control plane with a project of a tenant, and hosts that are its nodes. All are in a network of their own. */
export class AppPlatform implements AsyncDisposable {
  readonly network: HostNetwork;
  readonly agents = new Map<string, HostProcess>();
  /** For root:platform. */
  readonly platform: Client;
  /** For the project. */
  readonly tenant: Client;
  readonly #directory: TemporaryDirectory;
  readonly #owned: AsyncDisposableStack;

  private constructor(parts: { network: HostNetwork; client: Client; directory: TemporaryDirectory; owned: AsyncDisposableStack }) {
    this.network = parts.network;
    this.platform = parts.client.cluster('root:platform');
    this.tenant = parts.client.cluster(project);
    this.#directory = parts.directory;
    this.#owned = parts.owned;
  }

  static async start(): Promise<AppPlatform> {
    await buildCapstan();
    await using stack = new AsyncDisposableStack();
    const directory = stack.use(temporaryDirectory('apps'));
    const network = stack.use(await HostNetwork.create());
    const data = directory.join('data');
    writeFileSync(directory.join('capstan.yaml'), settings(network.hub));
    const command = ['up', '--no-node', '--data-dir', data, '--config', directory.join('capstan.yaml')];
    const server: Child = network.start('capstan up', [process.execPath, capstanProgram, ...command]);
    stack.defer(() => server.stop(15_000));
    await server.waitUntil('its controllers run', () => server.output.includes('platform controllers run'));
    const connection = connectionOf(loadKubeconfig({ path: `${data}/admin.kubeconfig` }));
    const client = stack.use(new Client({ ...connection, server: `https://127.0.0.1:${await network.forward(port)}` }));
    const platform = new AppPlatform({ network, client, directory, owned: stack.move() });
    // The platform is installed some time after the first start.
    await vi.waitFor(() => platform.run('offering', 'create', offering, '--gpus', '1', '--exclusive'), patience);
    await platform.run('ws', 'use', 'root:main');
    await platform.run('ws', 'create', 'vision', '--type', 'project', '--enter');
    return platform;
  }

  /** A host that is a node of the platform, with one GPU. Programs on it have the environment. */
  async addNode(name: string, prepare: (host: Host) => Promise<void>, options: HostOptions = {}): Promise<Host> {
    const environment = { ...options.environment, CAPSTAN_NODE_HEARTBEAT_SECONDS: '1' };
    const host = await this.network.addHost(name, { ...options, environment });
    await prepare(host);
    host.write('/usr/local/bin/capstan', `#!/bin/sh\nexec '${process.execPath}' '${capstanProgram}' "$@"\n`, 0o755);
    host.write('/var/lib/capstan-node-agent/gpus.yaml', 'gpus:\n  - { model: H200, count: 1, memory: 141Gi }\n');
    const enrolment = await this.run('node', 'enroll', name, '--installed');
    const agent = host.start('agent', ['sh', '-c', `exec ${enrolment}`]);
    this.agents.set(name, agent);
    await agent.waitUntil('its tunnel is open', () => /the tunnel to \S+ is open/.test(agent.output));
    return host;
  }

  /** Orders the whole node for the tenant. Returns the name of the node that it got. */
  async allocate(name: string): Promise<string> {
    await this.run('allocation', 'create', name, '--offering', offering, '--watch');
    const found = await this.run('allocation', 'list', '-o', 'json');
    const { items } = JSON.parse(found) as { items: { metadata: { name: string }; status: { parts: { node: string }[] } }[] };
    return items.find(({ metadata }) => metadata.name === name)!.status.parts[0]!.node;
  }

  /** Uploads the files of a version of an app, and names them in the catalog. */
  async addVersion(app: string, version: string, files: Readonly<Record<string, string>>): Promise<void> {
    const artifacts = await Promise.all(
      Object.entries(files).map(async ([name, path]): Promise<JsonObject> => {
        const said = await this.run('artifact', 'add', path, '--name', name);
        return { name, sha256: /[0-9a-f]{64}/.exec(said)![0] };
      }),
    );
    await vi.waitFor(() => this.platform.resource<App>(appKind).get(app), patience);
    const versions = [{ name: version, isDefault: true, artifacts }];
    await this.platform.resource<App>(appKind).patch(app, { type: 'merge', patch: { spec: { versions } } });
  }

  instances() {
    return this.tenant.resource<AppInstance>(appInstanceKind).in('default');
  }

  async members(): Promise<AppMember[]> {
    return (await this.tenant.resource<AppMember>(appMemberKind).in('default').list()).items;
  }

  /** The records of operations of an instance, the latest first. */
  async operations(instance: string): Promise<AppOperation[]> {
    const { items } = await this.tenant.resource<AppOperation>(appOperationKind).in('default').list();
    const own = items.filter(({ spec }) => spec.instance === instance);
    return own.toSorted((one, other) => ((one.metadata.creationTimestamp ?? '') < (other.metadata.creationTimestamp ?? '') ? 1 : -1));
  }

  /** Has all members looked at now, instead of half a minute after the last time. */
  async look(): Promise<void> {
    const { items } = await this.platform.resource<NodeTask>(nodeTaskKind).list({ labelSelector: 'apps.capstan.dev/instance' });
    for (const { metadata, spec } of items.filter(({ metadata: { labels } }) => labels?.['apps.capstan.dev/operation'] === undefined))
      await this.platform
        .resource<NodeTask>(nodeTaskKind)
        .in(metadata.namespace)
        .patch(metadata.name ?? '', { type: 'merge', patch: { spec: { attempt: spec.attempt + 1 } } });
  }

  /** Begins the failed steps of the last operation again. */
  async retry(instance: string): Promise<void> {
    const metadata = { name: `retry-${Date.now()}`, namespace: 'default' };
    const object = newObject(appOperationKind, { metadata, spec: { instance, type: 'retry' } as never }) as AppOperation;
    await this.tenant.resource<AppOperation>(appOperationKind).in('default').create(object);
  }

  async deploy(name: string, spec: JsonObject): Promise<void> {
    const object = newObject(appInstanceKind, { metadata: { name, namespace: 'default' }, spec: spec as never }) as AppInstance;
    await vi.waitFor(() => this.instances().create(object), patience);
  }

  /** Resolves when the instance has this status. Rejects when it has not in time, with all that is known about it. */
  async status(name: string, expected: object, timeout = 200_000): Promise<AppInstance> {
    return vi.waitFor(
      async () => {
        const instance = await this.instances().get(name);
        expect(instance.status, JSON.stringify(instance.status, undefined, 1)).toMatchObject(expected);
        return instance;
      },
      { timeout, interval: 250 },
    );
  }

  /** A link that signs the administrator in at the console, from this machine. */
  async consoleLink(): Promise<string> {
    const link = new URL(await this.run('console', '--no-browser'));
    // It listens on a loopback address of the hub.
    return `http://127.0.0.1:${await this.network.forward(Number(link.port), link.hostname)}/sign-in${link.hash}`;
  }

  /** Writes a file that programs in the network can read, and returns its path. */
  file(name: string, text: string): string {
    const path = this.#directory.join(name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  /** Makes somebody a user of the project. Returns the path of a kubeconfig by which commands run as them. */
  async addUser(user: string): Promise<string> {
    const { kubeconfig } = this;
    const entered = readFileSync(kubeconfig, 'utf8').replace(/^users:$([\s\S]*?)^(\s+)user:$/m, `users:$1$2user:\n$2  as: ${user}`);
    const path = this.file(`${user}.kubeconfig`, entered);
    const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterrolebindings', namespaced: false };
    await this.tenant.resource(roles).create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: user },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'user' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    } as KubeObject);
    return path;
  }

  get kubeconfig(): string {
    return this.#directory.join('data/admin.kubeconfig');
  }

  /** Runs `capstan`, as the administrator in the project, and returns its output. */
  async run(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.try(...args);
    if (code !== 0) throw new Error(`capstan ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  }

  try(...args: string[]): Promise<CommandResult> {
    return this.#start(process.execPath, capstanProgram, ...args);
  }

  /** Runs kubectl as the administrator, in the workspace of the last `capstan ws use`. */
  async kubectl(program: string, ...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.#start(program, ...args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  }

  #start(...command: string[]): Promise<CommandResult> {
    const environment = { KUBECONFIG: this.kubeconfig, HOME: this.#directory.path };
    return this.network.run(command, { timeout: 240_000, environment });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
