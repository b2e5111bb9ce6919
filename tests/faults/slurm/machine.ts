import { rmSync } from 'node:fs';
import { type GPUNode, gpuNodeKind } from '@capstan/api';
import { capstanProgram, type Host, type HostProcess } from '@capstan/testbed';
import type { ControlPlane } from '../control-plane.ts';
import { eventually } from '../eventually.ts';
import { agentFolder } from '../node-world.ts';

export interface MachineOptions {
  readonly name: string;
  /** Whether its clock can be set. */
  readonly clock: boolean;
  /** The folder of the marks, by which tests talk to programs on the machine. */
  readonly marks: string;
  /** Before it becomes a node. */
  readonly prepare?: (host: Host) => Promise<void>;
}

/** A node with a real agent, on which things go wrong. */
export class Machine {
  readonly plane: ControlPlane;
  readonly name: string;
  readonly host: Host;
  readonly #marks: string;
  #agent: HostProcess;

  private constructor(plane: ControlPlane, { name, marks }: MachineOptions, { host, agent }: { host: Host; agent: HostProcess }) {
    this.plane = plane;
    this.name = name;
    this.host = host;
    this.#marks = marks;
    this.#agent = agent;
  }

  static async start(plane: ControlPlane, options: MachineOptions): Promise<Machine> {
    const { name, clock, marks, prepare } = options;
    const host = await plane.network.addHost(name, { clock, environment: { CAPSTAN_NODE_HEARTBEAT_SECONDS: '1' } });
    host.write('/usr/local/bin/capstan', `#!/bin/sh\nexec '${process.execPath}' '${capstanProgram}' "$@"\n`, 0o755);
    host.write(`${marks}/record`, '');
    await prepare?.(host);
    await host.mountSmallDisk(agentFolder, 512);
    host.write(`${agentFolder}/gpus.yaml`, 'gpus:\n  - { model: H200, count: 1, memory: 141Gi }\n');
    const enrolment = await plane.run('node', 'enroll', name, '--installed');
    const agent = host.start('agent', ['sh', '-c', `exec ${enrolment}`]);
    const machine = new Machine(plane, options, { host, agent });
    await machine.#connected();
    return machine;
  }

  get agent(): HostProcess {
    return this.#agent;
  }

  async startAgent(): Promise<void> {
    this.#agent = this.host.start('agent', ['capstan', 'node-agent']);
    await this.#connected();
  }

  async #connected(): Promise<void> {
    const agent = this.#agent;
    await agent.waitUntil('its tunnel is open', () => /the tunnel to \S+ is open/.test(agent.output));
  }

  /** Resolves when the condition `Ready` of the node has this status. */
  async nodeIs(status: 'True' | 'Unknown'): Promise<void> {
    await eventually(`the node ${this.name} is ${status}`, async () => {
      const { status: found } = await this.plane.platform.resource<GPUNode>(gpuNodeKind).get(this.name);
      return found?.conditions?.some((one) => one.type === 'Ready' && one.status === status) || undefined;
    });
  }

  set(mark: string): void {
    this.host.write(`${this.#marks}/${mark}`, '');
  }

  unset(mark: string): void {
    rmSync(this.host.path(`${this.#marks}/${mark}`), { force: true });
  }

  /** How many times a line was written down. */
  count(line: string): number {
    return this.host
      .read(`${this.#marks}/record`)
      .split('\n')
      .filter((one) => one === line).length;
  }
}
