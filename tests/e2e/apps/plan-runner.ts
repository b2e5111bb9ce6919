import { randomBytes } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { AdapterInstance, AdapterMember, AdapterRegistration, Plan, PlannedStep, ProbeAnswer } from '@capstan/apps';
import type { Host, HostProcess } from '@capstan/testbed';

export interface RunnerOptions {
  readonly hosts: ReadonlyMap<string, Host>;
  /** Files, by their SHA-256. */
  readonly artifacts?: ReadonlyMap<string, string>;
}

/** Runs the plans of an adapter on pretended hosts, without a platform: as the engine and node agents would. */
export class PlanRunner implements AsyncDisposable {
  readonly facts: Record<string, string> = {};
  readonly secrets: Record<string, string> = {};
  readonly residues: string[] = [];
  readonly members: AdapterMember[] = [];
  readonly #registration: AdapterRegistration;
  readonly #instance: AdapterInstance;
  readonly #hosts: ReadonlyMap<string, Host>;
  readonly #artifacts: ReadonlyMap<string, string>;
  readonly #services = new Map<string, HostProcess>();
  /** Of the services, by the name of the host. */
  readonly #commands = new Map<string, readonly string[]>();

  constructor(registration: AdapterRegistration, instance: AdapterInstance, { hosts, artifacts = new Map() }: RunnerOptions) {
    this.#registration = registration;
    this.#instance = instance;
    this.#hosts = hosts;
    this.#artifacts = artifacts;
  }

  /** Plans an operation and runs its steps. Rejects with the output of the first that fails for good. */
  async do(
    type: string,
    { member, parameters = {} }: { readonly member?: string; readonly parameters?: Record<string, string> } = {},
  ): Promise<Plan> {
    const operation = { id: randomBytes(4).toString('hex'), type, parameters, ...(member !== undefined && { member }) };
    const plan = await this.#registration.adapter.plan({ instance: this.#instance, members: this.members, facts: this.facts, operation });
    for (const { name, bytes } of plan.secrets ?? []) this.secrets[name] ??= randomBytes(bytes).toString('hex');
    for (const stage of [...new Set(plan.steps.map((step) => step.stage))])
      await Promise.all(plan.steps.filter((step) => step.stage === stage).map((step) => this.#run(step)));
    for (const name of plan.joins ?? []) this.#update(name, { hasJoined: true, state: 'running' });
    for (const name of plan.leaves ?? [])
      this.members.splice(
        this.members.findIndex((one) => one.name === name),
        1,
      );
    return plan;
  }

  /** Asks all members, and returns what the adapter makes of it. */
  async observe() {
    const { adapter } = this.#registration;
    const request = { instance: this.#instance, members: this.members, facts: this.facts };
    const probes: Record<string, ProbeAnswer> = {};
    for (const member of this.members) {
      const probe = adapter.probe(member, request)!;
      const { code, output } = await this.#script(member.name, probe.script, probe.arguments ?? []);
      probes[member.name] = { exitCode: code, output };
    }
    return adapter.observe({ ...request, probes });
  }

  host(member: string): Host {
    return this.#hosts.get(this.members.find(({ name }) => name === member)?.node.name ?? member)!;
  }

  service(member: string): HostProcess | undefined {
    return this.#services.get(this.host(member).name);
  }

  /** kill -9 of the service of a member, which is started again, as the node agent does. */
  async restart(member: string): Promise<void> {
    const host = this.host(member);
    await this.#services.get(host.name)?.kill();
    this.#services.set(host.name, host.start('service', this.#commands.get(host.name)!));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const service of this.#services.values()) await service.kill();
  }

  #update(name: string, change: Partial<AdapterMember>): void {
    const index = this.members.findIndex((one) => one.name === name);
    this.members[index] = { ...this.members[index]!, ...change };
  }

  async #run(step: PlannedStep): Promise<void> {
    if (step.when !== undefined && this.facts[step.when.fact] !== step.when.is) return;
    const host = this.host(step.member);
    if (step.type === 'file.write') return host.write(step.task.path, this.#filled(step.task.content), Number.parseInt(step.task.mode, 8));
    if (step.type === 'artifact.fetch') {
      mkdirSync(host.path(dirname(step.task.path)), { recursive: true });
      copyFileSync(this.#artifacts.get(step.task.sha256)!, host.path(step.task.path));
      return chmodSync(host.path(step.task.path), Number.parseInt(step.task.mode, 8));
    }
    if (step.type === 'service.ensure') return this.#ensure(host, step.task);
    if (step.type !== 'process.run') throw new Error(`unexpected step ${step.id}`);
    const { code, output } = await this.#script(step.member, step.task.script, step.task.arguments ?? []);
    if (code !== 0 && step.onFailure !== 'continue')
      throw new Error(`${step.id} failed with ${step.exitCodes?.[String(code)] ?? code}: ${output}`);
    if (step.keepsFact !== undefined) this.facts[step.keepsFact] = output.replace(/\n$/, '');
    if (step.keepsSecret !== undefined) this.secrets[step.keepsSecret] = output.replace(/\n$/, '');
    if (step.reportsResidue) this.residues.push(...output.split('\n').filter((line) => line.startsWith('residue: ')));
  }

  async #script(member: string, name: string, args: readonly string[]): Promise<{ code: number; output: string }> {
    const host = this.host(member);
    const { content } = this.#registration.scripts().find((one) => one.name === name)!;
    const path = `/run/scripts/${name}`;
    host.write(path, content, 0o755);
    const { code, stdout, stderr } = await host.run([path, ...args], { timeout: 600_000 });
    return { code, output: stdout + stderr };
  }

  async #ensure(
    host: Host,
    { state, command = [] }: { readonly state: string; readonly command?: readonly string[] | undefined },
  ): Promise<void> {
    const present = this.#services.get(host.name);
    this.#commands.set(host.name, command);
    if (state === 'running' && present?.running !== true) this.#services.set(host.name, host.start('service', command));
    if (state === 'running' || present === undefined) return;
    present.signal('SIGTERM');
    await present.exited;
    this.#services.delete(host.name);
  }

  #filled(text: string): string {
    return text.replaceAll(/\$\{(secret|fact):([a-z-]+)\}/g, (_, kind: 'secret' | 'fact', name: string) => {
      const values = kind === 'secret' ? this.secrets : this.facts;
      return values[name] ?? `missing ${name}`;
    });
  }
}
