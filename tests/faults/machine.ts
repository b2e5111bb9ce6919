import { type GPUNode, gpuNodeKind } from '@capstan/api';
import { capstanProgram, type Host, type HostOptions, type HostProcess } from '@capstan/testbed';
import type { ControlPlane } from './control-plane.ts';
import { eventually } from './eventually.ts';

export const agentFolder = '/var/lib/capstan-node-agent';

export interface MachineOptions extends HostOptions {
  readonly name: string;
  /** Before it becomes a node. */
  readonly prepare?: (host: Host) => Promise<void>;
}

/** A node with a real agent, on which things go wrong. */
export class Machine {
  readonly plane: ControlPlane;
  readonly host: Host;
  /** The command with which it has joined. */
  readonly enrolment: string;
  #agent: HostProcess;

  private constructor(plane: ControlPlane, { host, enrolment }: { readonly host: Host; readonly enrolment: string }) {
    this.plane = plane;
    this.host = host;
    this.enrolment = enrolment;
    this.#agent = host.start('agent', commandOf(enrolment));
  }

  static async start(plane: ControlPlane, { name, prepare, ...options }: MachineOptions): Promise<Machine> {
    const host = await addHost(plane, name, options);
    await prepare?.(host);
    await host.mountSmallDisk(agentFolder, 512);
    host.write(`${agentFolder}/gpus.yaml`, 'gpus:\n  - { model: H200, count: 1, memory: 141Gi }\n');
    const machine = new Machine(plane, { host, enrolment: await plane.run('node', 'enroll', name, '--installed') });
    await machine.#connected();
    return machine;
  }

  get name(): string {
    return this.host.name;
  }

  get agent(): HostProcess {
    return this.#agent;
  }

  async startAgent(): Promise<void> {
    this.#agent = this.host.start('agent', ['capstan', 'node-agent']);
    await this.#connected();
  }

  /** Starts the agent with a command that makes it join. */
  async join(enrolment: string): Promise<void> {
    this.#agent = this.host.start('agent', commandOf(enrolment));
    await this.#connected();
  }

  /** Resolves when the condition `Ready` of the node has this status. */
  async nodeIs(status: 'True' | 'Unknown'): Promise<void> {
    await eventually(`the node ${this.name} is ${status}`, async () => {
      const { status: found } = await this.plane.platform.resource<GPUNode>(gpuNodeKind).get(this.name);
      return found?.conditions?.some((one) => one.type === 'Ready' && one.status === status) || undefined;
    });
  }

  async #connected(): Promise<void> {
    const agent = this.#agent;
    await agent.waitUntil('its tunnel is open', () => /the tunnel to \S+ is open/.test(agent.output));
  }
}

/** A host with the command `capstan`. */
export async function addHost(plane: ControlPlane, name: string, options: HostOptions = {}): Promise<Host> {
  const environment = { ...options.environment, CAPSTAN_NODE_HEARTBEAT_SECONDS: '1' };
  const host = await plane.network.addHost(name, { ...options, environment });
  host.write('/usr/local/bin/capstan', `#!/bin/sh\nexec '${process.execPath}' '${capstanProgram}' "$@"\n`, 0o755);
  return host;
}

export const commandOf = (enrolment: string): readonly string[] => ['sh', '-c', `exec ${enrolment}`];
