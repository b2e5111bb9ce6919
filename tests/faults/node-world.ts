import { cpSync } from 'node:fs';
import {
  type AppInstance,
  type AppOperation,
  appInstanceKind,
  appOperationKind,
  type GPUNode,
  gpuNodeKind,
  type NodeBooking,
  newObject,
  nodeBookingKind,
} from '@capstan/api';
import { isNotFound } from '@capstan/client';
import type { JsonObject } from '@capstan/machinery/objects';
import { capstanProgram, type Host, type HostOptions, type HostProcess } from '@capstan/testbed';
import { ControlPlane } from './control-plane.ts';
import { eventually } from './eventually.ts';

export const agentFolder = '/var/lib/capstan-node-agent';
const node = 'n1';
/** The exit code of an agent whose identity is refused. */
const refused = 14;
export const allocation = 'whole';

export interface NodeParts {
  readonly plane: ControlPlane;
  readonly host: Host;
  readonly agent: HostProcess;
  /** The command with which the node has joined. */
  readonly enrolment: string;
  readonly owned: AsyncDisposableStack;
}

/** An operation, of the instance or of one member. */
export interface Action {
  readonly member?: string | undefined;
}

/** A platform with one node, which a tenant has for itself, and instances of an app on it. */
export class NodeWorld implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly host: Host;
  readonly #enrolment: string;
  readonly #owned: AsyncDisposableStack;
  #agent: HostProcess;
  #strangers = 0;

  protected constructor({ plane, host, agent, enrolment, owned }: NodeParts) {
    this.plane = plane;
    this.host = host;
    this.#agent = agent;
    this.#enrolment = enrolment;
    this.#owned = owned;
  }

  /** A control plane, and a host on which an agent runs after `prepare`. */
  protected static async parts(
    options: HostOptions,
    prepare: (host: Host, stack: AsyncDisposableStack) => Promise<void>,
  ): Promise<NodeParts> {
    await using stack = new AsyncDisposableStack();
    // Things of the host that can only be removed when it is gone.
    const rest = stack.use(new AsyncDisposableStack());
    const plane = stack.use(await ControlPlane.start());
    const environment = { ...options.environment, CAPSTAN_NODE_HEARTBEAT_SECONDS: '1' };
    const host = await plane.network.addHost(node, { ...options, environment });
    await prepare(host, rest);
    writeCommand(host);
    await host.mountSmallDisk(agentFolder, 512);
    host.write(`${agentFolder}/gpus.yaml`, 'gpus:\n  - { model: H200, count: 1, memory: 141Gi }\n');
    const enrolment = await plane.run('node', 'enroll', node, '--installed');
    const agent = host.start('agent', ['sh', '-c', `exec ${enrolment}`]);
    await isConnected(agent);
    // A new project gets its kinds some time later.
    await eventually('allocations', () => plane.run('allocation', 'list'));
    await plane.run('allocation', 'create', allocation, '--offering', 'machine', '--watch');
    return { plane, host, agent, enrolment, owned: stack.move() };
  }

  // The agent.

  get agent(): HostProcess {
    return this.#agent;
  }

  async startAgent(): Promise<void> {
    this.#agent = this.host.start('agent', ['capstan', 'node-agent']);
    await isConnected(this.#agent);
  }

  /** Another machine tries to join with the token that the node has used. */
  async replayToken(): Promise<void> {
    const thief = await this.#stranger();
    const { code, stderr, stdout } = await thief.run(['sh', '-c', this.#enrolment]);
    if (code !== refused) throw new Error(`expected that the token is refused, found exit code ${code}: ${stdout}${stderr}`);
  }

  /** Another machine uses a copy of the agent's state, until the node is locked and both agents have ended. */
  async copyAgent(): Promise<void> {
    const copy = await this.#stranger();
    cpSync(this.host.path(agentFolder), copy.path(agentFolder), { recursive: true });
    await using other = copy.start('copy of the agent', ['capstan', 'node-agent']);
    const ended = await Promise.all([this.#agent.exited, other.exited]);
    if (ended.some(({ code }) => code !== refused)) throw new Error(`expected that both agents are refused: ${other.output}`);
  }

  /** The machine joins again after somebody has found out that it is the right one. */
  async unlock(): Promise<void> {
    const command = await this.plane.run('node', 'unlock', node, '--installed');
    this.#agent = this.host.start('agent', ['sh', '-c', `exec ${command}`]);
    await isConnected(this.#agent);
  }

  async #stranger(): Promise<Host> {
    const host = await this.plane.network.addHost(`stranger-${++this.#strangers}`, {
      environment: { CAPSTAN_NODE_HEARTBEAT_SECONDS: '1' },
    });
    writeCommand(host);
    return host;
  }

  /** Resolves when the condition `Ready` of the node has this status. */
  async nodeIs(status: 'True' | 'Unknown'): Promise<void> {
    await eventually(`the node is ${status}`, async () => {
      const { status: found } = await this.plane.platform.resource<GPUNode>(gpuNodeKind).get(node);
      return found?.conditions?.some((one) => one.type === 'Ready' && one.status === status) || undefined;
    });
  }

  // Instances.

  instances() {
    return this.plane.tenant.resource<AppInstance>(appInstanceKind).in('default');
  }

  operations() {
    return this.plane.tenant.resource<AppOperation>(appOperationKind).in('default');
  }

  protected async createInstance(name: string, spec: JsonObject): Promise<void> {
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

  /** Asks for another operation, such as `retry`. */
  async ask(instance: string, type: string, { member }: Action = {}): Promise<void> {
    const metadata = { generateName: `${type}-`, namespace: 'default' };
    const spec = { instance, type, ...(member !== undefined && { member }) };
    await this.operations().create(newObject(appOperationKind, { metadata, spec } as never) as AppOperation);
  }

  /** An operation that is possible now; undefined if it is not. */
  async actionOf(instance: string, type: string): Promise<Action | undefined> {
    const { allowedActions = [], lastOperation } = (await this.find(instance))?.status ?? {};
    if (lastOperation?.state !== 'succeeded') return undefined;
    return allowedActions.find(({ action }) => action === type);
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

function writeCommand(host: Host): void {
  host.write('/usr/local/bin/capstan', `#!/bin/sh\nexec '${process.execPath}' '${capstanProgram}' "$@"\n`, 0o755);
}

async function isConnected(agent: HostProcess): Promise<void> {
  await agent.waitUntil('its tunnel is open', () => /the tunnel to \S+ is open/.test(agent.output));
}
