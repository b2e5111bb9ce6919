import { cpSync } from 'node:fs';
import { type NodeBooking, nodeBookingKind } from '@capstan/api';
import type { Host, HostOptions } from '@capstan/testbed';
import { ControlPlane } from './control-plane.ts';
import { eventually } from './eventually.ts';
import { addHost, agentFolder, commandOf, Machine } from './machine.ts';
import { Tenant } from './tenant.ts';

/** The exit code of an agent whose identity is refused. */
const refused = 14;
export const allocation = 'whole';

export interface NodeParts {
  readonly plane: ControlPlane;
  readonly machine: Machine;
  readonly owned: AsyncDisposableStack;
}

/** A platform with one node, which a tenant has for itself, and instances of an app on it. */
export class NodeWorld implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly machine: Machine;
  readonly tenant: Tenant;
  readonly #owned: AsyncDisposableStack;
  #strangers = 0;

  protected constructor({ plane, machine, owned }: NodeParts) {
    this.plane = plane;
    this.machine = machine;
    this.tenant = new Tenant(plane);
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
    const machine = await Machine.start(plane, { ...options, name: 'n1', prepare: (host) => prepare(host, rest) });
    // A new project gets its kinds some time later.
    await eventually('allocations', () => plane.run('allocation', 'list'));
    await plane.order(allocation);
    return { plane, machine, owned: stack.move() };
  }

  /** Another machine tries to join with the token that the node has used. */
  async replayToken(): Promise<void> {
    const thief = await this.#stranger();
    const { code, stderr, stdout } = await thief.run(commandOf(this.machine.enrolment));
    if (code !== refused) throw new Error(`expected that the token is refused, found exit code ${code}: ${stdout}${stderr}`);
  }

  /** Another machine uses a copy of the agent's state, until the node is locked and both agents have ended. */
  async copyAgent(): Promise<void> {
    const { host, agent } = this.machine;
    const copy = await this.#stranger();
    cpSync(host.path(agentFolder), copy.path(agentFolder), { recursive: true });
    await using other = copy.start('copy of the agent', ['capstan', 'node-agent']);
    const ended = await Promise.all([agent.exited, other.exited]);
    if (ended.some(({ code }) => code !== refused)) throw new Error(`expected that both agents are refused: ${other.output}`);
  }

  /** The machine joins again after somebody has found out that it is the right one. */
  async unlock(): Promise<void> {
    await this.machine.join(await this.plane.run('node', 'unlock', this.machine.name, '--installed'));
  }

  #stranger(): Promise<Host> {
    return addHost(this.plane, `stranger-${++this.#strangers}`);
  }

  /** Who has a node. More than one is a double booking. */
  async owners(node = this.machine.name): Promise<readonly string[]> {
    const { items } = await this.plane.platform.resource<NodeBooking>(nodeBookingKind).list();
    return items
      .filter(({ metadata }) => metadata.name === node)
      .flatMap(({ spec }) => spec.entries.map(({ allocation: { name } }) => name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
