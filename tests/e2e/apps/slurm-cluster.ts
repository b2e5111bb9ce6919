import {
  type App,
  type AppInstance,
  type AppMember,
  type AppOperation,
  appKind,
  appMemberKind,
  appOperationKind,
  newObject,
} from '@capstan/api';
import { isNotFound } from '@capstan/client';
import type { JsonObject } from '@capstan/machinery/objects';
import { type Host, HostNetwork, requireTool, tool } from '@capstan/testbed';
import { expect, vi } from 'vitest';
import { AppPlatform } from './platform.ts';

const patience = { timeout: 280_000, interval: 200 };
const namespace = 'default';
/** The allocations, by their names. */
export type Place = 'controller' | 'g1' | 'g2' | 'login';

export interface SlurmOptions {
  /** Parameters of the instance, beside those that every test needs. */
  readonly parameters?: JsonObject;
  /** Whether there is a machine to log in to. */
  readonly hasLogin?: boolean;
  /** After how many failed probes the platform repairs a member by itself. */
  readonly repairAfterProbes?: number;
  /** Prepares a host before it becomes a node. */
  readonly prepare?: (host: Host) => Promise<void>;
}

/** Why no cluster can be made here; undefined if one can. */
export async function slurmProblem(): Promise<string | undefined> {
  const found = await tool('slurm');
  return (await HostNetwork.problem()) ?? ('missing' in found ? found.missing : undefined);
}

/** Three hosts with node agents, each of them ordered as a whole by a tenant, and the instance `lab` of Slurm on them. */
export class SlurmCluster implements AsyncDisposable {
  readonly platform: AppPlatform;
  readonly #options: SlurmOptions;
  readonly #hosts = new Map<string, Host>();

  private constructor(platform: AppPlatform, options: SlurmOptions) {
    this.platform = platform;
    this.#options = options;
  }

  static async start(options: SlurmOptions = {}): Promise<SlurmCluster> {
    const offerPackages = await requireTool('slurm');
    const platform = await AppPlatform.start();
    const cluster = new SlurmCluster(platform, options);
    try {
      const hosts = new Map<string, Host>();
      const prepare = async (host: Host): Promise<void> => {
        expect(await host.run([offerPackages])).toMatchObject({ code: 0 });
        await options.prepare?.(host);
      };
      const places = ['controller', 'g1', 'g2', ...(options.hasLogin === true ? ['login'] : [])];
      for (const index of places.keys()) {
        const name = `n${index + 1}`;
        hosts.set(name, await platform.addNode(name, prepare));
      }
      for (const place of places) cluster.#hosts.set(place, hosts.get(await platform.allocate(place))!);
      const { repairAfterProbes } = options;
      if (repairAfterProbes !== undefined)
        await platform.platform.resource<App>(appKind).patch('slurm', { type: 'merge', patch: { spec: { repairAfterProbes } } });
    } catch (error) {
      await platform[Symbol.asyncDispose]();
      throw error;
    }
    return cluster;
  }

  host(place: Place): Host {
    return this.#hosts.get(place)!;
  }

  async run(on: Place, ...command: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.host(on).run(command, { timeout: 60_000 });
    if (code !== 0) throw new Error(`${command.join(' ')} on ${on}: ${stdout}${stderr}`);
    return stdout.trim();
  }

  shell(on: Place, script: string): Promise<string> {
    return this.run(on, 'sh', '-c', script);
  }

  /** Deploys the cluster with these nodes, or changes it. */
  async want(...compute: Place[]): Promise<void> {
    await this.ask(...compute);
    const { metadata } = await this.#instances().get('lab');
    const others = this.#options.hasLogin === true ? 2 : 1;
    await this.#settled((status) => {
      expect(status).toMatchObject({ observedGeneration: metadata.generation, state: 'running', lastOperation: { state: 'succeeded' } });
      expect(status?.members?.total).toBe(compute.length + others);
    });
  }

  /** The same, without waiting for it. */
  async ask(...compute: Place[]): Promise<void> {
    await this.askWith({}, ...compute);
  }

  /** The same, with other parameters. */
  async askWith(more: JsonObject, ...compute: Place[]): Promise<void> {
    const login = this.#options.hasLogin === true ? { login_allocation_id: 'login' } : {};
    const placement = { controller_allocation_id: 'controller', compute_allocation_ids: compute, ...login };
    // Control groups of this machine may be mixed ones, which Slurm does not use.
    const parameters = { confinement: 'none', users: [{ name: 'ann', uid: 2001 }], ...this.#options.parameters, ...more };
    const spec = { app: 'slurm', placement, parameters };
    if ((await this.find()) === undefined) await this.platform.deploy('lab', spec);
    else await this.#instances().patch('lab', { type: 'merge', patch: { spec } });
  }

  /** Runs a command on the controller as the user ann. */
  ann(...command: string[]): Promise<string> {
    return this.asAnn('controller', ...command);
  }

  asAnn(on: Place, ...command: string[]): Promise<string> {
    return this.run(on, 'setpriv', '--reuid=ann', '--regid=ann', '--init-groups', ...command);
  }

  /** The jobs, each with its user and its state. */
  queue(): Promise<string> {
    return this.run('controller', 'squeue', '--noheader', '--format=%u %T');
  }

  /** Begins an operation, and resolves when it has ended. */
  async operate(type: string, { on, parameters }: { readonly on?: Place; readonly parameters?: object } = {}): Promise<AppOperation> {
    const member = on === undefined ? undefined : (await this.member(on)).metadata.name;
    const spec = { instance: 'lab', type, ...(member !== undefined && { member }), ...(parameters && { parameters }) };
    const metadata = { generateName: `${type}-`, namespace };
    const operations = this.platform.tenant.resource<AppOperation>(appOperationKind).in(namespace);
    const made = await operations.create(newObject(appOperationKind, { metadata, spec: spec as never }) as AppOperation);
    return vi.waitFor(async () => {
      const operation = await operations.get(made.metadata.name ?? '');
      expect(['succeeded', 'failed'], JSON.stringify(operation.status)).toContain(operation.status?.state);
      return operation;
    }, patience);
  }

  async done(type: string, options: { readonly on?: Place; readonly parameters?: object } = {}): Promise<void> {
    const { status } = await this.operate(type, options);
    expect(status, JSON.stringify(status?.errors)).toMatchObject({ state: 'succeeded' });
  }

  async member(allocation: Place): Promise<AppMember> {
    const members = await this.platform.members();
    return members.find(({ spec }) => spec.allocation === allocation)!;
  }

  /** Does something, and resolves when probes have shown this about a member, if only for a moment: the platform may repair it at once. */
  async sees(
    allocation: Place,
    expected: { readonly health: string; readonly message?: string },
    cause: () => Promise<unknown> = async () => {},
  ): Promise<void> {
    const members = this.platform.tenant.resource<AppMember>(appMemberKind).in(namespace);
    const { items, metadata } = await members.list();
    await cause();
    const isSeen = ({ spec, status }: AppMember): boolean =>
      spec.allocation === allocation &&
      status?.health === expected.health &&
      (expected.message === undefined || status.message === expected.message);
    if (items.some(isSeen)) return;
    const changes = members.watch({ resourceVersion: metadata.resourceVersion ?? '', signal: AbortSignal.timeout(patience.timeout) });
    for await (const { type, object } of changes) if (type !== 'BOOKMARK' && isSeen(object)) return;
    throw new Error(`${allocation} was never seen as ${JSON.stringify(expected)}`);
  }

  async healthy(): Promise<void> {
    await this.#settled((status) => expect(status).toMatchObject({ state: 'running', health: 'healthy' }));
  }

  /** The state of a node in the words of Slurm, with the reason of a drain. */
  async stateOf(node: Place): Promise<string> {
    const { name } = this.host(node);
    return this.run('controller', 'sinfo', '--noheader', '--Node', `--nodes=${name}`, '--format=%T %E');
  }

  /** Deletes the instance, and returns what it said last. */
  async remove(): Promise<AppInstance['status']> {
    let last: AppInstance['status'];
    await this.#instances().delete('lab');
    await vi.waitFor(async () => {
      const found = await this.find();
      last = found?.status ?? last;
      expect(found, JSON.stringify(found?.status)).toBeUndefined();
    }, patience);
    return last;
  }

  async find(): Promise<AppInstance | undefined> {
    return this.#instances()
      .get('lab')
      .catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
  }

  /** Traces of the cluster on a host, by other means than those of the adapter. */
  remains(on: Place): Promise<string> {
    return this.shell(
      on,
      `dpkg-query --show --showformat='\${Package}\\n' | grep -E 'slurm|munge|mariadb'
      grep -E '^(ann|slurm|munge):|capstan' /etc/passwd /etc/group /etc/hosts
      ls -d /home/ann /etc/munge /var/lib/slurm* /var/log/slurm* /var/lib/capstan-slurm /run/munge 2> /dev/null
      grep -l capstan /usr/sbin/policy-rc.d
      find /etc/systemd /etc/slurm -name '*slurm*' -o -name 'munge*' 2> /dev/null
      pgrep -a '^(slurm|munge)'
      pgrep -a '^mariadb'
      true`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.platform[Symbol.asyncDispose]();
  }

  #instances() {
    return this.platform.instances();
  }

  async #settled(check: (status: AppInstance['status']) => void): Promise<void> {
    await vi.waitFor(async () => {
      const { status } = await this.#instances().get('lab');
      try {
        check(status);
      } catch (error) {
        throw new Error(`${(error as Error).message}\n${JSON.stringify(status, undefined, 1)}`);
      }
    }, patience);
  }
}
