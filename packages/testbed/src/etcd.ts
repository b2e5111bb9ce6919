import { Child } from './child.ts';
import { freePort, type TemporaryDirectory, temporaryDirectory } from './temporary.ts';
import { requireTool } from './tools/tool.ts';

export interface EtcdOptions {
  /** How many members the cluster has, by default one. */
  readonly members?: number;
  readonly args?: readonly string[];
}

export interface EtcdMember {
  readonly endpoint: string;
  readonly child: Child;
}

/** A real etcd cluster on loopback. */
export class EtcdCluster implements AsyncDisposable {
  readonly #directory: TemporaryDirectory;
  readonly #commands: readonly (readonly string[])[];
  readonly #members: EtcdMember[];

  constructor(directory: TemporaryDirectory, endpoints: readonly string[], commands: readonly (readonly string[])[]) {
    this.#directory = directory;
    this.#commands = commands;
    this.#members = endpoints.map((endpoint, index) => ({ endpoint, child: new Child(`etcd ${index}`, commands[index]!) }));
  }

  get endpoints(): readonly string[] {
    return this.#members.map((member) => member.endpoint);
  }

  get pids(): readonly number[] {
    return this.#members.map((member) => member.child.pid);
  }

  /** The running process of one member: to kill, stop or continue it. */
  member(index: number): Child {
    return this.#members[index]!.child;
  }

  /** Ends all members in order; each can be started again. */
  async stop(): Promise<void> {
    await Promise.all(this.#members.map(({ child }) => child.stop()));
  }

  /** Restarts a member on its old data. */
  async restart(index: number): Promise<void> {
    const { endpoint, child } = this.#members[index]!;
    await child.kill();
    this.#members[index] = { endpoint, child: new Child(`etcd ${index}`, this.#commands[index]!) };
    await this.ready(index);
  }

  async ready(index: number): Promise<void> {
    const { endpoint, child } = this.#members[index]!;
    await child.waitUntil('healthy', async () => {
      const answer = await fetch(`${endpoint}/health`).catch(() => undefined);
      return answer?.ok === true;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#members.map(({ child }) => child.kill()));
    this.#directory[Symbol.dispose]();
  }
}

export async function startEtcd({ members = 1, args = [] }: EtcdOptions = {}): Promise<EtcdCluster> {
  const program = await requireTool('etcd');
  const directory = temporaryDirectory('etcd');
  const places: { client: string; peer: string }[] = [];
  for (let index = 0; index < members; index++) {
    places.push({ client: `http://127.0.0.1:${await freePort()}`, peer: `http://127.0.0.1:${await freePort()}` });
  }
  const initial = places.map(({ peer }, index) => `m${index}=${peer}`).join(',');
  const commands = places.map(({ client, peer }, index) => [
    ...[program, '--name', `m${index}`, '--data-dir', directory.join(`m${index}`), '--log-level', 'warn'],
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
    ...['--initial-cluster', initial, '--initial-cluster-state', 'new', ...args],
  ]);
  const cluster = new EtcdCluster(
    directory,
    places.map(({ client }) => client),
    commands,
  );
  try {
    for (let index = 0; index < members; index++) await cluster.ready(index);
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
  return cluster;
}
