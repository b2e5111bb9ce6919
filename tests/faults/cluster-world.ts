import { type App, type AppOperation, appKind } from '@capstan/api';
import {
  buildRelease,
  distributionEnvironment,
  distributionProblem,
  HostNetwork,
  prepareHost,
  type Release,
  temporaryDirectory,
} from '@capstan/testbed';
import { eventually } from './eventually.ts';
import { allocation, NodeWorld } from './node-world.ts';

export type Program = 'k3s' | 'rke2';

/** Why no cluster can be deployed here; undefined if one can. */
export const clusterProblem = async (): Promise<string | undefined> => (await HostNetwork.problem()) ?? (await distributionProblem());

/** A platform with one node, on which clusters of k3s or RKE2 with one server are deployed. */
export class ClusterWorld extends NodeWorld {
  #program: Program = 'k3s';
  /** SHA-256 of the artifacts of the version. */
  #artifacts: readonly string[] = [];

  static async start(program: Program, { clock }: { readonly clock: boolean }): Promise<ClusterWorld> {
    const environment = await distributionEnvironment();
    const parts = await NodeWorld.parts({ clock, environment }, async (host, rest) => void rest.use(await prepareHost(host)));
    try {
      const world = new ClusterWorld(parts);
      world.#program = program;
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
    return this.createInstance(name, { app: this.#program, placement: { server_allocation_id: allocation } });
  }

  /** The last operation of a type; undefined if there is none. */
  async operation(instance: string, type: string): Promise<AppOperation | undefined> {
    const { items } = await this.operations().list();
    return items.findLast(({ spec }) => spec.instance === instance && spec.type === type);
  }

  /** kill -9 of the program of the cluster, if it runs. */
  async killService(): Promise<void> {
    const { stdout } = await this.host.run(['pgrep', '-of', `^/usr/local/bin/${this.#program} server`]);
    if (stdout.trim() !== '') await this.host.kill(Number(stdout));
  }

  /** Whether the node of the cluster is ready, as the cluster itself says. */
  async isReady(): Promise<boolean> {
    const admin = ['--kubeconfig', `/etc/rancher/${this.#program}/${this.#program}.yaml`];
    const template = 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}';
    const { stdout } = await this.host.run([this.#program, 'kubectl', ...admin, 'get', 'nodes', '-o', template], { timeout: 20_000 });
    return stdout.trim() === 'True';
  }
}
