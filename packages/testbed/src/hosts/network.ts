import { Child, type ChildOptions } from '../child.ts';
import { type CommandOptions, type CommandResult, run } from '../command.ts';
import { forwardPort } from './forwarder.ts';
import { groupsMount } from './group.ts';
import { Host, type HostOptions } from './host.ts';
import { hubAddress, startHub } from './hub.ts';
import { Machine } from './machine.ts';

/** A network of pretended hosts. Programs in its hub, such as a control plane, have the address `hub`. */
export class HostNetwork implements AsyncDisposable {
  readonly hub = hubAddress;
  readonly #machine: Machine;
  readonly #owned: AsyncDisposableStack;
  #hosts = 0;

  private constructor(machine: Machine, owned: AsyncDisposableStack) {
    this.#machine = machine;
    this.#owned = owned;
  }

  /** Why none can be made here; undefined if one can. */
  static async problem(): Promise<string | undefined> {
    const problem = await Machine.problem();
    if (problem !== undefined) return problem;
    if (groupsMount() === undefined) return 'hosts need control groups of version 2';
    try {
      await using network = await HostNetwork.create();
      await network.addHost('probe');
      return undefined;
    } catch (error) {
      return `hosts cannot be made here: ${(error as Error).message}`;
    }
  }

  static async create(): Promise<HostNetwork> {
    await using stack = new AsyncDisposableStack();
    const machine = stack.use(await startHub());
    return new HostNetwork(machine, stack.move());
  }

  async addHost(name: string, options: HostOptions = {}): Promise<Host> {
    const address = `192.0.2.${11 + this.#hosts++}`;
    return this.#owned.use(await Host.start({ name, address, hub: this.#machine }, options));
  }

  /** Wraps a command so that it runs in the hub, with the files of this machine. */
  command(...command: readonly string[]): readonly [string, ...string[]] {
    return this.#machine.command(...command);
  }

  /** Runs a program in the hub to its end. */
  run(command: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    const [program, ...args] = this.command(...command);
    return run(program, args, options);
  }

  start(name: string, command: readonly string[], options: ChildOptions = {}): Child {
    return new Child(name, this.command(...command), options);
  }

  /** A loopback port of this machine that leads to a port of the hub, at its address in the network unless another one is given. */
  async forward(port: number, host = this.hub): Promise<number> {
    return this.#owned.use(await forwardPort(this.#machine, { host, port })).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
