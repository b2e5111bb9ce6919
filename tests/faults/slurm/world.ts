import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type App, appKind, type NodeTask, newObject, nodeNamespace, nodeTaskKind } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery/objects';
import { type Host, requireTool } from '@capstan/testbed';
import { ControlPlane } from '../control-plane.ts';
import { eventually } from '../eventually.ts';
import { Machine } from '../machine.ts';
import { Marks } from '../marks.ts';
import { Tenant } from '../tenant.ts';

const marks = '/var/gate';
/** The allocations. The machine of the last one is added to the cluster and removed again. */
const places = ['controller', 'compute', 'added'] as const;
export type Place = (typeof places)[number];

const policies = { group: 'admissionregistration.k8s.io', version: 'v1beta1', resource: 'mutatingadmissionpolicies', namespaced: false };
const policyBindings = { ...policies, resource: 'mutatingadmissionpolicybindings' };
const hurry = 'hurry';

const gate = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');

/** A machine whose steps can be held before they do anything. */
export interface GatedMachine {
  readonly machine: Machine;
  readonly marks: Marks;
}

/** A platform with three nodes, on which Slurm is deployed. */
export class SlurmWorld implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly tenant: Tenant;
  readonly machines: Readonly<Record<Place, GatedMachine>>;
  readonly #owned: AsyncDisposableStack;

  private constructor(plane: ControlPlane, machines: Readonly<Record<Place, GatedMachine>>, owned: AsyncDisposableStack) {
    this.plane = plane;
    this.tenant = new Tenant(plane);
    this.machines = machines;
    this.#owned = owned;
  }

  static async start({ clock }: { readonly clock: boolean }): Promise<SlurmWorld> {
    const offerPackages = await requireTool('slurm');
    await using stack = new AsyncDisposableStack();
    const plane = stack.use(await ControlPlane.start());
    const { spec } = await eventually('the catalog', () => plane.platform.resource<App>(appKind).get('slurm'));
    const own = (spec.permitted?.scripts ?? []).filter(({ name }) => name !== 'slurm-probe' && name !== 'slurm-service');
    const names = own.map(({ name, sha256 }) => `${sha256} ${name}\n`).join('');
    const prepare = async (host: Host): Promise<void> => {
      host.write(`${marks}/names`, names);
      host.write(`${marks}/record`, '');
      for (const command of [[offerPackages], ['rm', '/usr/bin/sh']]) {
        const { code, stderr } = await host.run(command);
        if (code !== 0) throw new Error(`${command.join(' ')}: ${stderr}`);
      }
      host.write('/usr/bin/sh', gate('gate.sh'), 0o755);
      host.write('/usr/local/bin/apt-get', gate('apt-get.sh'), 0o755);
    };
    const byName = new Map<string, Machine>();
    for (const name of ['n1', 'n2', 'n3']) byName.set(name, await Machine.start(plane, { name, clock, prepare }));
    const found = new Map<Place, GatedMachine>();
    for (const place of places) {
      const machine = byName.get(await plane.order(place))!;
      found.set(place, { machine, marks: new Marks(machine.host, marks) });
    }
    const machines = { controller: found.get('controller')!, compute: found.get('compute')!, added: found.get('added')! };
    return new SlurmWorld(plane, machines, stack.move());
  }

  // The instance.

  create(name: string): Promise<void> {
    // Control groups of this machine may be mixed ones, which Slurm does not use.
    return this.tenant.create(name, { app: 'slurm', placement: placementOf(['compute']), parameters: { confinement: 'none' } });
  }

  /** Changes which machines run jobs. */
  place(name: string, compute: readonly Place[]): Promise<void> {
    return this.tenant.change(name, { placement: placementOf(compute) });
  }

  pause(name: string, paused: boolean): Promise<void> {
    return this.tenant.change(name, { paused });
  }

  /** Repairs the node that runs jobs. */
  async repair(name: string): Promise<void> {
    const [member] = [...(await this.members())].find(([, place]) => place === 'compute')!;
    await this.tenant.ask(name, 'repair', { member });
  }

  /** The place of each member. */
  members(): Promise<ReadonlyMap<string, Place>> {
    return this.tenant.allocations() as Promise<ReadonlyMap<string, Place>>;
  }

  // Deadlines.

  /** From now on, the first tasks of steps have this deadline instead of their own. Their names end with the number of the attempt. */
  async hurry(deadline: string): Promise<void> {
    const patch = `Object{spec: Object.spec{deadline: "${deadline}"}}`;
    const rules = [{ apiGroups: ['fleet.capstan.dev'], apiVersions: ['*'], resources: ['nodetasks'], operations: ['CREATE'] }];
    const { group, version } = policies;
    const apiVersion = `${group}/${version}`;
    const spec = {
      matchConstraints: { resourceRules: rules },
      matchConditions: [
        { name: 'step', expression: "has(object.metadata.labels) && 'apps.capstan.dev/operation' in object.metadata.labels" },
        { name: 'first', expression: "object.metadata.name.endsWith('-1')" },
      ],
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: patch } }],
    };
    const metadata = { name: hurry };
    await this.plane.platform.resource(policies).create({ apiVersion, kind: 'MutatingAdmissionPolicy', metadata, spec } as KubeObject);
    const binding = { apiVersion, kind: 'MutatingAdmissionPolicyBinding', metadata, spec: { policyName: hurry } };
    await this.plane.platform.resource(policyBindings).create(binding as KubeObject);
    await eventually('hurry', async () => (await this.#deadlineOfTasks()) === deadline || undefined);
  }

  async rest(): Promise<void> {
    const hurried = await this.#deadlineOfTasks();
    for (const kind of [policyBindings, policies]) await this.plane.platform.resource(kind).delete(hurry);
    await eventually('rest', async () => (await this.#deadlineOfTasks()) !== hurried || undefined);
  }

  /** The deadline that a task would have that is created now. */
  async #deadlineOfTasks(): Promise<string> {
    const metadata = {
      name: 'how-long-1',
      namespace: nodeNamespace(this.machines.compute.machine.name),
      labels: { 'apps.capstan.dev/operation': 'none' },
    };
    const task = newObject(nodeTaskKind, { metadata, spec: { type: 'gpu.inspect', gpuInspect: {} } } as never) as NodeTask;
    const { spec } = await this.plane.platform.resource<NodeTask>(nodeTaskKind).in(metadata.namespace).create(task, { dryRun: true });
    return spec.deadline;
  }

  // The cluster.

  /** Why not all of these run a job together; undefined if they do. */
  async problem(compute: readonly Place[]): Promise<string | undefined> {
    const { host } = this.machines.controller.machine;
    const nodes = compute.map((place) => this.machines[place].machine.name).sort();
    const command = ['srun', '--chdir=/tmp', '--immediate=30', `--nodes=${nodes.length}`, 'hostname'];
    const { code, stdout, stderr } = await host.run(command, { timeout: 60_000 });
    const ran = stdout.trim().split('\n').sort();
    return code === 0 && ran.join() === nodes.join() ? undefined : `no job runs on ${nodes.join(' and ')}: ${stdout}${stderr}`.trim();
  }

  /** Programs of Slurm that run on machines that should have none any more. */
  async remains(on: readonly Place[] = places): Promise<string> {
    const found = await Promise.all(
      on.map((place) => this.machines[place].machine.host.run(['pgrep', '-a', '^(slurm|munge)'], { timeout: 10_000 })),
    );
    return found.map(({ stdout }) => stdout).join('');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

const placementOf = (compute: readonly Place[]) => ({ controller_allocation_id: 'controller', compute_allocation_ids: [...compute] });
