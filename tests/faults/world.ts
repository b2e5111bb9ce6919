import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  type App,
  type AppInstance,
  type AppOperation,
  appInstanceKind,
  appKind,
  appOperationKind,
  type GPUNode,
  gpuNodeKind,
  type NodeBooking,
  type NodeScript,
  newObject,
  nodeBookingKind,
  nodeScriptKind,
} from '@capstan/api';
import { isNotFound } from '@capstan/client';
import type { JsonObject } from '@capstan/machinery/objects';
import { capstanProgram, type Host, type HostProcess } from '@capstan/testbed';
import { ControlPlane } from './control-plane.ts';
import { eventually } from './eventually.ts';

const folder = '/var/ledger';
export const agentFolder = '/var/lib/capstan-node-agent';
const ledger = join(import.meta.dirname, 'ledger');
const node = 'n1';
const allocation = 'whole';

/** A platform with one node, whose only app writes down what its steps do. */
export class World implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly host: Host;
  readonly #owned: AsyncDisposableStack;
  #agent: HostProcess;

  private constructor(plane: ControlPlane, { host, agent, owned }: { host: Host; agent: HostProcess; owned: AsyncDisposableStack }) {
    this.plane = plane;
    this.host = host;
    this.#agent = agent;
    this.#owned = owned;
  }

  /** `clock`: whether the clock of the node can be set. */
  static async start({ clock }: { readonly clock: boolean }): Promise<World> {
    await using stack = new AsyncDisposableStack();
    const plane = stack.use(await ControlPlane.start());
    const adapter = plane.network.start('adapter', [process.execPath, join(ledger, 'adapter.mjs')]);
    stack.defer(() => adapter.stop());
    await adapter.waitUntil('it listens', () => adapter.output.includes('listening'));
    const environment = { CAPSTAN_NODE_HEARTBEAT_SECONDS: '1' };
    const host = await plane.network.addHost(node, { clock, environment });
    host.write('/usr/local/bin/capstan', `#!/bin/sh\nexec '${process.execPath}' '${capstanProgram}' "$@"\n`, 0o755);
    host.write(`${folder}/record`, '');
    await host.mountSmallDisk(agentFolder, 512);
    host.write(`${agentFolder}/gpus.yaml`, 'gpus:\n  - { model: H200, count: 1, memory: 141Gi }\n');
    const enrolment = await plane.run('node', 'enroll', node, '--installed');
    const agent = host.start('agent', ['sh', '-c', `exec ${enrolment}`]);
    const world = new World(plane, { host, agent, owned: stack.move() });
    await world.connected();
    await world.#install();
    await plane.run('allocation', 'create', allocation, '--offering', 'machine', '--watch');
    return world;
  }

  async #install(): Promise<void> {
    const { platform } = this.plane;
    const content = readFileSync(join(ledger, 'step.sh'), 'utf8');
    await platform
      .resource<NodeScript>(nodeScriptKind)
      .create(newObject(nodeScriptKind, { metadata: { name: 'ledger-step' }, spec: { content } }));
    const allocations = { type: 'array', items: { type: 'string', format: 'allocation' } };
    const spec = {
      displayName: 'A ledger',
      support: 'community',
      adapter: { url: 'http://127.0.0.1:8090' },
      versions: [{ name: '1' }],
      placement: { type: 'object', required: ['allocation_ids'], properties: { allocation_ids: allocations } },
      parameters: { type: 'object', properties: { deadline: { type: 'string' }, text: { type: 'string' } } },
      components: [{ name: 'server', title: 'Servers', minimum: 1 }],
      permitted: { scripts: [{ name: 'ledger-step' }] },
    };
    await platform.resource<App>(appKind).create(newObject(appKind, { metadata: { name: 'ledger' }, spec } as never) as App);
  }

  // The agent.

  async connected(): Promise<void> {
    const agent = this.#agent;
    await agent.waitUntil('its tunnel is open', () => /the tunnel to \S+ is open/.test(agent.output));
  }

  get agent(): HostProcess {
    return this.#agent;
  }

  async startAgent(): Promise<void> {
    this.#agent = this.host.start('agent', ['capstan', 'node-agent']);
    await this.connected();
  }

  /** Resolves when the condition `Ready` of the node has this status. */
  async nodeIs(status: 'True' | 'Unknown'): Promise<void> {
    await eventually(`the node is ${status}`, async () => {
      const { status: found } = await this.plane.platform.resource<GPUNode>(gpuNodeKind).get(node);
      return found?.conditions?.some((one) => one.type === 'Ready' && one.status === status) || undefined;
    });
  }

  // The ledger.

  set(mark: string): void {
    this.host.write(`${folder}/${mark}`, '');
  }

  unset(mark: string): void {
    rmSync(this.host.path(`${folder}/${mark}`), { force: true });
  }

  has(mark: string): boolean {
    return existsSync(this.host.path(`${folder}/${mark}`));
  }

  /** How many times a step of an instance has begun. */
  begun(instance: string, step: string): number {
    return this.host
      .read(`${folder}/record`)
      .split('\n')
      .filter((line) => line === `begin ${instance} ${step}`).length;
  }

  // Instances.

  instances() {
    return this.plane.tenant.resource<AppInstance>(appInstanceKind).in('default');
  }

  async create(name: string, parameters: JsonObject): Promise<void> {
    const spec = { app: 'ledger', placement: { allocation_ids: [allocation] }, parameters };
    const object = newObject(appInstanceKind, { metadata: { name, namespace: 'default' }, spec } as never) as AppInstance;
    await eventually(`the instance ${name}`, () => this.instances().create(object));
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

  async retry(instance: string): Promise<void> {
    const metadata = { name: `retry-${instance}`, namespace: 'default' };
    const object = newObject(appOperationKind, { metadata, spec: { instance, type: 'retry' } } as never) as AppOperation;
    await this.plane.tenant.resource<AppOperation>(appOperationKind).in('default').create(object);
  }

  /** Who has the node. More than one is a double booking. */
  async owners(): Promise<readonly string[]> {
    const { items } = await this.plane.platform.resource<NodeBooking>(nodeBookingKind).list();
    return items.flatMap(({ spec }) => spec.entries.map(({ allocation: { name } }) => name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
