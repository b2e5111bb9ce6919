import {
  type Allocation,
  type App,
  type AppInstance,
  type AppMember,
  type AppOperation,
  appKind,
  type GPUNode,
  type NodeBooking,
  type NodeTask,
  newObject,
} from '@capstan/api';
import { checkedAnswer } from '../adapter/answers.ts';
import type { AccessAnswer, MembersAnswer, Observation } from '../adapter/contract.ts';
import type { FoundAdapter } from '../adapter/finding.ts';
import { useOf } from '../checking/allocations.ts';
import { Memory } from '../instances/memory.ts';
import { asked, askMembers, askPlan, instanceRequest, probeAnswers, type Subject } from '../instances/questions.ts';
import type { Asked, Scene } from '../instances/scene.ts';
import { appFinalizer, type Step } from '../instances/step.ts';
import { isWanted, viewOf } from '../instances/view.ts';
import type { KeptValues } from '../keeping/kept-values.ts';
import { recordLabel } from '../operations/labels.ts';
import { nextProbe, type Probe, probeTask, taskFor } from '../operations/making.ts';
import type { KeptPlan } from '../operations/scene.ts';
import { pair } from './pair.ts';

const unasked = { kind: 'unasked' } as const;
const uidOf = (name: string): string => `uid-${name}`;

/** A machine that runs each attempt of a task at most once. */
export class PretendMachine {
  readonly name: string;
  isHeard = true;
  /** The tasks of a busy one begin, and do not end. */
  isBusy = false;
  /** Every attempt of a step that it began, in order. */
  readonly began: string[] = [];
  /** Scripts and types that fail. */
  readonly broken = new Map<string, { readonly retryable: boolean }>();
  /** The answer to probes. */
  probe = 'ok';

  constructor(name: string) {
    this.name = name;
  }
}

const subjectOf = ({ spec }: NodeTask): string => spec.processRun?.script ?? spec.type;

/** A small cloud with one instance, in memory, in which the controller can be killed after any write. */
export class AppWorld {
  now = 1_000_000;
  instance: AppInstance | undefined;
  readonly app: App;
  readonly machines: readonly PretendMachine[];
  readonly members = new Map<string, AppMember>();
  readonly operations = new Map<string, AppOperation>();
  readonly tasks = new Map<string, NodeTask>();
  readonly allocations = new Map<string, Allocation>();
  /** An upgrade of the platform may change it. */
  probe: Probe = { script: 'pair-probe', arguments: [], sha256: 'f'.repeat(64) };
  readonly #secrets = new Map<string, string>();
  readonly #facts: Record<string, string> = {};
  #plan: KeptPlan | undefined;
  #uids = 0;
  // Of one process.
  #memory = new Memory();
  // Of one reconcile.
  #wanted: Asked<MembersAnswer> = unasked;
  #plans = new Map<string, Asked<KeptPlan>>();
  #observation: Asked<Observation> = unasked;
  #access: Asked<AccessAnswer> = unasked;
  #read = new Set<string>();
  #kept = new Set<string>();
  #absent = new Set<string>();
  #isForgotten = false;

  constructor(nodes: readonly string[], placement: object) {
    this.machines = nodes.map((name) => new PretendMachine(name));
    for (const name of nodes) this.allocations.set(name, allocation(name));
    this.app = newObject(appKind, pair.apps()[0]!) as App;
    this.instance = {
      apiVersion: 'apps.capstan.dev/v1alpha1',
      kind: 'AppInstance',
      metadata: { name: 'i', namespace: 'default', uid: 'instance', generation: 1, annotations: { 'kcp.io/cluster': 'c' } },
      spec: { app: 'pair', placement, stopped: false, paused: false },
    } as unknown as AppInstance;
  }

  /** A new process: everything that was only in memory is gone. */
  restart(): void {
    this.#memory = new Memory();
    this.begin();
  }

  /** Another reconcile of the same process. */
  begin(): void {
    this.#wanted = unasked;
    this.#plans = new Map();
    this.#observation = unasked;
    this.#access = unasked;
    this.#read = new Set();
    this.#kept = new Set();
    this.#absent = new Set();
    this.#isForgotten = false;
  }

  change(spec: Partial<AppInstance['spec']>): void {
    const { metadata } = this.instance!;
    this.instance = {
      ...this.instance!,
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
      spec: { ...this.instance!.spec, ...spec },
    };
  }

  delete(): void {
    const { instance } = this;
    if (instance?.metadata.finalizers === undefined) this.instance = undefined;
    else this.instance = { ...instance, metadata: { ...instance.metadata, deletionTimestamp: '2031-01-01T00:00:00Z' } };
  }

  ask(type: string, member?: string): void {
    const name = `${type}-${++this.#uids}`;
    this.#store(name, { instance: 'i', type, dryRun: false, cancelled: false, ...(member !== undefined && { member }) });
  }

  /** Asks for the plan of an operation, without its first steps. Returns the name of the operation. */
  askPlan(type: string, skipSteps: number): string {
    const name = `plan-${++this.#uids}`;
    this.#store(name, { instance: 'i', type, dryRun: true, cancelled: false, skipSteps });
    return name;
  }

  #store(name: string, spec: AppOperation['spec'], labels?: Record<string, string>): void {
    const metadata = {
      name,
      namespace: 'default',
      uid: uidOf(name),
      creationTimestamp: new Date(this.now).toISOString(),
      ...(labels && { labels }),
    };
    this.operations.set(name, { apiVersion: '', kind: 'AppOperation', metadata, spec } as AppOperation);
  }

  scene(): Scene | undefined {
    const { instance } = this;
    if (instance === undefined) return undefined;
    return {
      now: this.now,
      instance,
      app: this.app,
      members: [...this.members.values()].sort((one, other) => (one.metadata.name! < other.metadata.name! ? -1 : 1)),
      operations: [...this.operations.values()],
      taken: new Map(),
      wanted: this.#wanted,
      plan: (operation) => this.#plans.get(operation) ?? unasked,
      useOf: (name) => useOf(name, this.allocations.get(name), (node) => booking(node, this.allocations.get(node))),
      node: (name) => this.#node(name),
      task: (node, name) => this.tasks.get(`node-${node}/${name}`),
      tasks: [...this.tasks.values()],
      absent: this.#absent,
      output: (task) => (this.#read.has(task.metadata.name!) ? { kind: 'read', text: this.#outputOf(task) } : { kind: 'unread' }),
      kept: this.#kept,
      facts: { ...this.#facts },
      probe: () => ({ ...this.probe, every: 30_000 }),
      observation: this.#observation,
      access: this.#access,
      isForgotten: this.#isForgotten,
    };
  }

  #node(name: string): GPUNode | undefined {
    const machine = this.machines.find((one) => one.name === name);
    if (machine === undefined) return undefined;
    const conditions = [
      {
        type: 'Ready',
        status: machine.isHeard ? 'True' : 'Unknown',
        reason: 'Any',
        message: '',
        lastTransitionTime: '2031-01-01T00:00:00Z',
      },
    ];
    return {
      apiVersion: '',
      kind: 'GPUNode',
      metadata: { name },
      spec: {},
      status: { conditions, addresses: [{ interface: 'eth0', address: '10.0.0.1' }] },
    } as unknown as GPUNode;
  }

  /** Agents that are heard do what their tasks say. */
  work(): void {
    for (const machine of this.machines) {
      if (!machine.isHeard) continue;
      for (const [key, task] of this.tasks) {
        const isOver = task.status?.attempt === task.spec.attempt && task.status.finishedAt !== undefined;
        if (task.metadata.namespace !== `node-${machine.name}` || isOver) continue;
        if (machine.isBusy) {
          this.tasks.set(key, { ...task, status: { phase: 'Running', attempt: task.spec.attempt } });
          continue;
        }
        const subject = subjectOf(task);
        if (subject !== 'pair-probe') machine.began.push(task.metadata.name!);
        const failure = machine.broken.get(subject);
        const finishedAt = new Date(this.now).toISOString();
        const error = { code: 'CommandFailed', message: 'it exited with 3', userFixable: true, retryable: failure?.retryable ?? false };
        const status = {
          attempt: task.spec.attempt,
          finishedAt,
          ...(failure ? { phase: 'Failed' as const, error } : { phase: 'Succeeded' as const }),
        };
        this.tasks.set(key, { ...task, status });
      }
    }
  }

  #outputOf(task: NodeTask): string {
    if (subjectOf(task) !== 'pair-probe') return 'good day\n';
    return `${this.machines.find(({ name }) => task.metadata.namespace === `node-${name}`)!.probe}\n`;
  }

  /** Performs a step as the real controller does. */
  async perform(step: Exclude<Step, { kind: 'wait' }>): Promise<void> {
    const instance = this.instance!;
    switch (step.kind) {
      case 'protect':
        this.instance = { ...instance, metadata: { ...instance.metadata, finalizers: [appFinalizer] } };
        return;
      case 'letGo':
        this.instance = undefined;
        return;
      case 'status':
        this.instance = { ...instance, status: step.status };
        return;
      case 'adopt':
        for (const one of step.operations) this.#own(one);
        return;
      case 'begin': {
        const { type, member } = step.beginning;
        if (this.operations.has(step.name)) return;
        const labels = type === 'decommission' ? { [recordLabel]: 'instance' } : undefined;
        this.#store(step.name, { instance: 'i', type, dryRun: false, cancelled: false, ...(member !== undefined && { member }) }, labels);
        if (labels === undefined) this.#own(this.operations.get(step.name)!);
        return;
      }
      case 'operationStatus':
        this.operations.set(step.operation.metadata.name!, { ...this.operations.get(step.operation.metadata.name!)!, status: step.status });
        return;
      case 'cancelOperation': {
        const one = this.operations.get(step.operation.metadata.name!)!;
        this.operations.set(one.metadata.name!, { ...one, spec: { ...one.spec, cancelled: true } });
        return;
      }
      case 'deleteOperations':
        for (const { metadata } of step.operations) this.operations.delete(metadata.name!);
        return;
      case 'createMembers':
        for (const { name, component, allocation: of, node } of step.targets) {
          const metadata = { name, namespace: 'default', uid: uidOf(name), generation: 1 };
          if (!this.members.has(name))
            this.members.set(name, {
              apiVersion: '',
              kind: 'AppMember',
              metadata,
              spec: { instance: 'i', component, allocation: of, node },
            });
        }
        return;
      case 'deleteMembers':
        for (const { metadata } of step.members) this.members.delete(metadata.name!);
        return;
      case 'memberStatus':
        for (const { member, status } of step.writes) this.members.set(member.metadata.name!, { ...member, status });
        return;
      case 'deleteInstance':
        throw new Error('nobody asked for a preview');
      default:
        return this.#performElse(step);
    }
  }

  async #performElse(step: Exclude<Step, { kind: 'wait' }>): Promise<void> {
    const instance = this.instance!;
    switch (step.kind) {
      case 'askMembers':
        this.#wanted = await askMembers(() => this.#adapter(), this.#subject(), this.scene()!.useOf, [...this.allocations.keys()]);
        return;
      case 'plan':
        this.#plans.set(step.operation.metadata.uid!, await this.#planOf(step.operation));
        return;
      case 'look':
        for (const { node, name } of step.tasks) if (!this.tasks.has(`node-${node}/${name}`)) this.#absent.add(name);
        return;
      case 'read':
        for (const { metadata } of step.tasks) this.#read.add(metadata.name!);
        return;
      case 'keep':
        for (const { step: kept, task } of step.keeps) {
          this.#facts[kept.keepsFact!] = this.#outputOf(task).trim();
          this.#kept.add(task.metadata.name!);
        }
        return;
      case 'start':
        for (const start of step.starts) {
          const { task } = taskFor(start, { instance, operation: step.operation, values: this.#values() });
          this.#create(task);
        }
        return;
      case 'cancelTasks':
        for (const task of step.tasks) this.tasks.set(keyOf(task), { ...task, spec: { ...task.spec, cancelled: true } });
        return;
      case 'deleteTasks':
        for (const task of step.tasks) this.tasks.delete(keyOf(task));
        return;
      case 'probe':
        for (const { metadata, spec } of step.members)
          this.#create(probeTask(instance, { uid: metadata.uid!, node: spec.node }, this.probe));
        for (const task of step.tasks) this.tasks.set(keyOf(task), { ...task, spec: { ...task.spec, ...nextProbe(task, this.probe) } });
        return;
      case 'observe': {
        const probes = probeAnswers(this.scene()!, this.#memory);
        this.#observation = await asked(async () =>
          this.#adapter().observe({ ...instanceRequest(this.#subject(), this.#values()), probes }),
        );
        return;
      }
      case 'askAccess':
        this.#access = await asked(() => this.#adapter().access(instanceRequest(this.#subject(), this.#values())));
        return;
      case 'forget':
        this.#isForgotten = true;
        this.#plan = undefined;
        return;
      default:
        throw new Error(`unexpected step ${step.kind}`);
    }
  }

  #own(operation: AppOperation): void {
    const ownerReferences = [{ apiVersion: '', kind: 'AppInstance', name: 'i', uid: 'instance' }];
    this.operations.set(operation.metadata.name!, { ...operation, metadata: { ...operation.metadata, ownerReferences } });
  }

  #create(task: NodeTask): void {
    if (this.tasks.has(keyOf(task))) return;
    this.tasks.set(keyOf(task), {
      ...task,
      metadata: { ...task.metadata, uid: `task-${++this.#uids}` },
      spec: { ...task.spec, attempt: 1, cancelled: false },
    });
  }

  #values(): KeptValues {
    return { secrets: this.#secrets, facts: { ...this.#facts } };
  }

  #adapter(): FoundAdapter {
    const { adapter } = pair;
    return {
      ...adapter,
      plan: async (request) => checkedAnswer.plan(await adapter.plan(request)),
      probe: (member, request) => adapter.probe(member, request),
    };
  }

  #subject(): Subject {
    const scene = this.scene()!;
    const view = viewOf(scene);
    const isRemoved = scene.instance.metadata.deletionTimestamp !== undefined;
    return {
      instance: scene.instance,
      app: this.app,
      workspace: 'root:main:t',
      members: scene.members,
      node: scene.node,
      isWanted: (member) => !isRemoved && (view.kind === 'clear' ? isWanted(member, view.targets) : member.status?.joined === true),
    };
  }

  async #planOf(operation: AppOperation): Promise<Asked<KeptPlan>> {
    if (this.#plan?.operation === operation.metadata.uid) return { kind: 'answer', value: this.#plan! };
    const hashes = new Map(pair.scripts().map(({ name, sha256 }) => [name, sha256]));
    const plan = await askPlan(() => this.#adapter(), {
      subject: this.#subject(),
      operation,
      values: this.#values(),
      scripts: { hashOf: (name) => hashes.get(name) },
    });
    if (plan.kind !== 'answer') return plan;
    for (const { name } of plan.value.secrets ?? []) this.#secrets.set(name, 'x');
    this.#plan = plan.value;
    return plan;
  }
}

const keyOf = ({ metadata }: NodeTask): string => `${metadata.namespace}/${metadata.name}`;

function allocation(name: string): Allocation {
  return {
    apiVersion: '',
    kind: 'Allocation',
    metadata: { name, namespace: 'default', uid: uidOf(name) },
    spec: { offering: 'metal', nodes: 1, priority: 0 },
    status: { phase: 'Active', attempt: 'one', parts: [{ node: name, devices: [] }] },
  } as unknown as Allocation;
}

function booking(node: string, of: Allocation | undefined): NodeBooking | undefined {
  if (of === undefined) return undefined;
  const reference = { cluster: 'c', namespace: 'default', name: node, uid: of.metadata.uid! };
  const entry = { allocation: reference, attempt: 'one', state: 'Granted', devices: [], cpu: 0, memory: 0, exclusive: true };
  return { apiVersion: '', kind: 'NodeBooking', metadata: { name: node }, spec: { entries: [entry] } } as unknown as NodeBooking;
}
