import { type App, appKind } from '@capstan/api';
import {
  buildRelease,
  distributionEnvironment,
  distributionProblem,
  type Host,
  HostNetwork,
  prepareHost,
  type Release,
  temporaryDirectory,
} from '@capstan/testbed';
import { eventually } from './eventually.ts';
import { Machine } from './machine.ts';
import { allocation, NodeWorld } from './node-world.ts';

export type Program = 'k3s' | 'rke2';

/** Why no cluster can be deployed here; undefined if one can. */
export const clusterProblem = async (): Promise<string | undefined> => (await HostNetwork.problem()) ?? (await distributionProblem());

/** The allocation of the machine that joins as an agent and leaves again. */
const second = 'second';

/** A platform with two nodes, on which clusters of k3s or RKE2 with one server are deployed. */
export class ClusterWorld extends NodeWorld {
  #program: Program = 'k3s';
  #second: Machine | undefined;
  /** SHA-256 of the artifacts of the version. */
  #artifacts: readonly string[] = [];

  static async start(program: Program, { clock }: { readonly clock: boolean }): Promise<ClusterWorld> {
    const environment = await distributionEnvironment();
    let groups: AsyncDisposableStack | undefined;
    const prepare = async (host: Host): Promise<void> => void groups!.use(await prepareHost(host));
    const parts = await NodeWorld.parts({ clock, environment }, async (host, rest) => {
      groups = rest;
      await prepare(host);
    });
    try {
      const world = new ClusterWorld(parts);
      world.#program = program;
      world.#second = await Machine.start(parts.plane, { name: 'n2', clock, environment, prepare });
      await parts.plane.order(second);
      const directory = parts.owned.use(temporaryDirectory('release'));
      await world.#addVersion(await buildRelease(program, directory.path));
      return world;
    } catch (error) {
      await parts.owned.disposeAsync();
      throw error;
    }
  }

  async #addVersion({ version, files }: Release): Promise<void> {
    const artifacts: { name: string; sha256: string }[] = [];
    for (const [name, path] of Object.entries(files)) {
      const said = await this.plane.run('artifact', 'add', path, '--name', name);
      artifacts.push({ name, sha256: /[0-9a-f]{64}/.exec(said)![0] });
    }
    this.#artifacts = artifacts.map(({ sha256 }) => sha256);
    const apps = this.plane.platform.resource<App>(appKind);
    await eventually('the App', () => apps.get(this.#program));
    await apps.patch(this.#program, { type: 'merge', patch: { spec: { versions: [{ name: version, isDefault: true, artifacts }] } } });
  }

  get artifactFiles(): readonly string[] {
    return this.#artifacts.map((sha256) => this.plane.path(`data/artifacts/${sha256}`));
  }

  deploy(name: string): Promise<void> {
    return this.tenant.create(name, { app: this.#program, placement: { server_allocation_id: allocation } });
  }

  /** Changes whether the second machine is an agent of the cluster. */
  place(name: string, { hasAgent }: { readonly hasAgent: boolean }): Promise<void> {
    return this.tenant.change(name, { placement: { agent_allocation_ids: hasAgent ? [second] : [] } });
  }

  /** The machine of each member. */
  async machines(): Promise<ReadonlyMap<string, Machine>> {
    const found = [...(await this.tenant.allocations())];
    return new Map(found.map(([member, name]) => [member, name === second ? this.#second! : this.machine]));
  }

  /** kill -9 of the program of the cluster, if it runs on a machine. */
  async killService({ host }: Machine): Promise<void> {
    await host.run(['pkill', '-KILL', '-of', `^/usr/local/bin/${this.#program} (server|agent)`]);
  }

  /** Whether the cluster has so many nodes, and all of them are ready, as it says itself. */
  async isReady(nodes: number): Promise<boolean> {
    const admin = ['--kubeconfig', `/etc/rancher/${this.#program}/${this.#program}.yaml`];
    const template = 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}';
    const { stdout } = await this.machine.host.run([this.#program, 'kubectl', ...admin, 'get', 'nodes', '-o', template], {
      timeout: 20_000,
    });
    return stdout.trim() === Array(nodes).fill('True').join(' ');
  }
}
