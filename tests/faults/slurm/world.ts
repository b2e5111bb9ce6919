import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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
  nodeNamespace,
  nodeTaskKind,
} from '@capstan/api';
import { isNotFound } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery/objects';
import { type Host, requireTool } from '@capstan/testbed';
import { ControlPlane } from '../control-plane.ts';
import { eventually } from '../eventually.ts';
import { Machine } from './machine.ts';

const marks = '/var/gate';
const namespace = 'default';
const components = ['controller', 'compute'] as const;
type Component = (typeof components)[number];

const policies = { group: 'admissionregistration.k8s.io', version: 'v1beta1', resource: 'mutatingadmissionpolicies', namespaced: false };
const policyBindings = { ...policies, resource: 'mutatingadmissionpolicybindings' };
const hurry = 'hurry';

const gate = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');

/** A platform with two nodes, on which Slurm is deployed. Its steps can be held before they do anything. */
export class SlurmWorld implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly machines: Readonly<Record<Component, Machine>>;
  readonly #owned: AsyncDisposableStack;

  private constructor(plane: ControlPlane, machines: Readonly<Record<Component, Machine>>, owned: AsyncDisposableStack) {
    this.plane = plane;
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
      for (const command of [[offerPackages], ['rm', '/usr/bin/sh']]) {
        const { code, stderr } = await host.run(command);
        if (code !== 0) throw new Error(`${command.join(' ')}: ${stderr}`);
      }
      host.write('/usr/bin/sh', gate('gate.sh'), 0o755);
      host.write('/usr/local/bin/apt-get', gate('apt-get.sh'), 0o755);
    };
    const byName = new Map<string, Machine>();
    for (const name of ['n1', 'n2']) byName.set(name, await Machine.start(plane, { name, clock, marks, prepare }));
    const found = new Map<Component, Machine>();
    for (const component of components) found.set(component, byName.get(await allocate(plane, component))!);
    const machines = { controller: found.get('controller')!, compute: found.get('compute')! };
    return new SlurmWorld(plane, machines, stack.move());
  }

  // The instance.

  instances() {
    return this.plane.tenant.resource<AppInstance>(appInstanceKind).in(namespace);
  }

  async create(name: string): Promise<void> {
    const placement = { controller_allocation_id: 'controller', compute_allocation_ids: ['compute'] };
    // Control groups of this machine may be mixed ones, which Slurm does not use.
    const spec = { app: 'slurm', placement, parameters: { confinement: 'none' } };
    const object = newObject(appInstanceKind, { metadata: { name, namespace }, spec } as never) as AppInstance;
    await eventually(`the instance ${name}`, () => this.instances().create(object));
  }

  async pause(name: string, paused: boolean): Promise<void> {
    await eventually('the pause', () => this.instances().patch(name, { type: 'merge', patch: { spec: { paused } } }));
  }

  /** Undefined if it is gone. */
  async find(name: string): Promise<AppInstance | undefined> {
    try {
      return await this.instances().get(name);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** The last operation of a type. */
  async operation(instance: string, type: string): Promise<AppOperation | undefined> {
    const { items } = await this.plane.tenant.resource<AppOperation>(appOperationKind).in(namespace).list();
    return items
      .filter(({ spec }) => spec.instance === instance && spec.type === type)
      .toSorted((one, other) => (one.status?.sequence ?? 0) - (other.status?.sequence ?? 0))
      .at(-1);
  }

  retry(instance: string): Promise<void> {
    return this.#ask({ instance, type: 'retry' });
  }

  /** Repairs the node that runs jobs. */
  async repair(instance: string): Promise<void> {
    const members = await eventually('the members', () => this.components());
    const [member] = [...members].find(([, component]) => component === 'compute')!;
    await this.#ask({ instance, type: 'repair', member });
  }

  async #ask(spec: { readonly instance: string; readonly type: string; readonly member?: string }): Promise<void> {
    const metadata = { generateName: `${spec.type}-`, namespace };
    const object = newObject(appOperationKind, { metadata, spec } as never) as AppOperation;
    await eventually(`the ${spec.type}`, () => this.plane.tenant.resource<AppOperation>(appOperationKind).in(namespace).create(object));
  }

  /** The component of each member. */
  async components(): Promise<ReadonlyMap<string, Component>> {
    const { items } = await this.plane.tenant.resource<AppMember>(appMemberKind).in(namespace).list();
    return new Map(items.map(({ metadata, spec }) => [metadata.name ?? '', spec.component as Component]));
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
      namespace: nodeNamespace(this.machines.compute.name),
      labels: { 'apps.capstan.dev/operation': 'none' },
    };
    const task = newObject(nodeTaskKind, { metadata, spec: { type: 'gpu.inspect', gpuInspect: {} } } as never) as NodeTask;
    const { spec } = await this.plane.platform.resource<NodeTask>(nodeTaskKind).in(metadata.namespace).create(task, { dryRun: true });
    return spec.deadline;
  }

  // The cluster.

  /** Why no job runs; undefined if one does. */
  async problem(): Promise<string | undefined> {
    const { host } = this.machines.controller;
    const { code, stdout, stderr } = await host.run(['srun', '--chdir=/tmp', '--immediate=30', 'hostname'], { timeout: 60_000 });
    return code === 0 && stdout.trim() === this.machines.compute.name ? undefined : `no job runs: ${stdout}${stderr}`.trim();
  }

  /** Programs of Slurm that run on a machine that has none any more. */
  async remains(): Promise<string> {
    const found = await Promise.all(
      Object.values(this.machines).map(({ host }) => host.run(['pgrep', '-a', '^(slurm|munge)'], { timeout: 10_000 })),
    );
    return found.map(({ stdout }) => stdout).join('');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

/** Orders a node. Returns its name. */
async function allocate(plane: ControlPlane, name: string): Promise<string> {
  await plane.run('allocation', 'create', name, '--offering', 'machine', '--watch');
  const found = await plane.run('allocation', 'list', '-o', 'json');
  const { items } = JSON.parse(found) as { items: { metadata: { name: string }; status: { parts: { node: string }[] } }[] };
  return items.find(({ metadata }) => metadata.name === name)!.status.parts[0]!.node;
}
