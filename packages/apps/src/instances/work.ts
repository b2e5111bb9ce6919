import {
  type AppInstance,
  type AppMember,
  type AppOperation,
  appInstanceKind,
  appMemberKind,
  appOperationKind,
  type NodeTask,
  newObject,
} from '@capstan/api';
import { type Client, isAlreadyExists, isNotFound, type ObjectKey, objectKey } from '@capstan/client';
import type { StepWork } from '@capstan/compute';
import {
  addFinalizer,
  type EventRecorder,
  ignoring,
  patchStatus,
  type Reconcile,
  removeFinalizer,
  withController,
  withRequester,
} from '@capstan/controller';
import type { AccessAnswer, MembersAnswer, Observation } from '../adapter/contract.ts';
import type { FoundAdapter } from '../adapter/finding.ts';
import { useOf } from '../checking/allocations.ts';
import { mentionsIn } from '../checking/placeholders.ts';
import { Keeper, type KeptValues } from '../keeping/kept-values.ts';
import type { ReadOutput } from '../keeping/outputs.ts';
import { ReportAccount, reportTokenSecret } from '../keeping/report-account.ts';
import { recordLabel } from '../operations/labels.ts';
import { nextProbe, probeTask } from '../operations/making.ts';
import { NodeTasks } from '../operations/node-tasks.ts';
import type { KeptPlan, Output, Start } from '../operations/scene.ts';
import type { Keep } from '../operations/steps.ts';
import { probeName } from '../operations/task-names.ts';
import { automaticAnnotation } from '../operations/types.ts';
import { eventsFor, operationEvents } from '../status/events.ts';
import { type Copies, membersOf, namesIn, operationsOf, scriptHash, tasksOf } from './copies.ts';
import type { Memory } from './memory.ts';
import { probesOf } from './probes.ts';
import { asked, askMembers, askPlan, instanceRequest, probeAnswers, type Subject, withTargets } from './questions.ts';
import type { Asked, Scene } from './scene.ts';
import { appFinalizer, type Step } from './step.ts';
import type { Target } from './targets.ts';
import { isWanted, viewOf } from './view.ts';

export interface WorkOptions {
  readonly copies: Copies;
  /** For the workspace of the instance. */
  readonly client: Client;
  readonly platform: Client;
  readonly events: EventRecorder;
  readonly wrote: Reconcile<AppInstance>['wrote'];
  readonly signal: AbortSignal;
  readonly now: () => number;
  readonly workspace: string;
  readonly adapterOf: (app: NonNullable<Scene['app']>) => FoundAdapter;
  readonly readOutput: ReadOutput;
  readonly memory: Memory;
}

const unasked = { kind: 'unasked' } as const;
const mostProbeAttempts = 1000;

/** One look at an instance: the copies, with the answers to its own questions and writes. */
export class Work implements StepWork<Scene, Step> {
  readonly #options: WorkOptions;
  readonly #keeper: Keeper;
  readonly #account: ReportAccount;
  readonly #key: ObjectKey;
  #instance: AppInstance;
  readonly #members: Map<string, AppMember>;
  readonly #operations: Map<string, AppOperation>;
  readonly #tasks: NodeTasks;
  readonly #taken = new Map<string, string>();
  readonly #plans = new Map<string, Asked<KeptPlan>>();
  readonly #outputs = new Map<string, Output>();
  readonly #kept = new Set<string>();
  #wanted: Asked<MembersAnswer> = unasked;
  #observation: Asked<Observation> = unasked;
  #access: Asked<AccessAnswer> = unasked;
  #values: KeptValues | undefined;
  #isForgotten = false;

  constructor(instance: AppInstance, options: WorkOptions) {
    const { copies } = options;
    const { uid = '' } = instance.metadata;
    this.#options = options;
    this.#instance = instance;
    this.#key = objectKey(instance);
    this.#keeper = new Keeper(options.platform, uid);
    this.#account = new ReportAccount(options.platform, uid);
    const isOwn = (one: AppMember | AppOperation): boolean => one.metadata.ownerReferences?.some((owner) => owner.uid === uid) ?? false;
    this.#members = new Map(
      membersOf(copies, this.#key)
        .filter(isOwn)
        .map((one) => [one.metadata.name ?? '', one]),
    );
    const own = operationsOf(copies, this.#key).filter(
      (one) =>
        isOwn(one) ||
        (one.metadata.ownerReferences === undefined && one.metadata.labels?.[recordLabel] === undefined) ||
        one.metadata.labels?.[recordLabel] === uid,
    );
    this.#operations = new Map(own.map((one) => [one.metadata.name ?? '', one]));
    this.#tasks = new NodeTasks(tasksOf(copies, uid), options);
  }

  scene(): Scene {
    const { copies, now, memory } = this.#options;
    const key = (name: string): ObjectKey => ({ ...this.#key, name });
    const members = [...this.#members.values()].sort((one, other) => ((one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1));
    return {
      now: now(),
      instance: this.#instance,
      app: copies.apps.get({ name: this.#instance.spec.app }),
      members,
      operations: [...this.#operations.values()].sort(byAge),
      taken: this.#taken,
      wanted: this.#wanted,
      plan: (operation) => this.#plans.get(operation) ?? unasked,
      useOf: (allocation) => useOf(allocation, copies.allocations.get(key(allocation)), (node) => copies.bookings.get({ name: node })),
      node: (name) => copies.nodes.get({ name }),
      task: (node, name) => this.#tasks.get(node, name),
      tasks: this.#tasks.all(),
      absent: this.#tasks.absent,
      output: (task) => this.#outputs.get(outputKey(task)) ?? memory.outputs.get(outputKey(task)) ?? { kind: 'unread' },
      kept: this.#kept,
      facts: this.#values?.facts,
      probe: this.#probes(),
      observation: this.#observation,
      access: this.#access,
      isForgotten: this.#isForgotten,
    };
  }

  /** Does what was decided. Errors are thrown: the next reconcile decides again. */
  async perform(step: Exclude<Step, { kind: 'wait' }>): Promise<void> {
    switch (step.kind) {
      case 'protect':
        return this.#wroteInstance(await addFinalizer(this.#instances(), this.#instance, appFinalizer));
      case 'letGo':
        return this.#wroteInstance(await removeFinalizer(this.#instances(), this.#instance, appFinalizer));
      case 'deleteInstance':
        return void (await ignoring(this.#instances().delete(this.#instance.metadata.name ?? ''), isNotFound));
      case 'status':
        return this.#writeStatus(step.status);
      case 'adopt':
        return each(step.operations, (one) => this.#adopt(one));
      case 'begin':
        return this.#begin(step);
      case 'operationStatus':
        return this.#writeOperation(step.operation, step.status);
      case 'cancelOperation':
        return this.#wroteOperation(
          await this.#resource<AppOperation>(appOperationKind).patch(step.operation.metadata.name ?? '', {
            type: 'merge',
            patch: { spec: { cancelled: true } },
          }),
        );
      case 'deleteOperations':
        return each(step.operations, (one) => this.#deleteOperation(one));
      case 'createMembers':
        return each(step.targets, (target) => this.#createMember(target));
      case 'deleteMembers':
        return each(step.members, (one) => this.#deleteMember(one));
      case 'memberStatus':
        return each(step.writes, async ({ member, status }) =>
          this.#wroteMember(await patchStatus(this.#resource<AppMember>(appMemberKind), member, status)),
        );
      case 'askMembers':
        this.#wanted = await this.#askMembers();
        return;
      case 'plan':
        this.#plans.set(step.operation.metadata.uid ?? '', await this.#plan(step.operation));
        return;
      case 'observe':
        return this.#observe();
      case 'askAccess':
        this.#access = await asked(async () => this.#adapter().access(instanceRequest(this.#subject(), await this.#read())));
        return;
      case 'forget':
        await this.#account.revoke();
        await this.#keeper.forget();
        this.#isForgotten = true;
        return;
      default:
        return this.#performTasks(step);
    }
  }

  async #performTasks(
    step: Extract<Step, { kind: 'look' | 'read' | 'keep' | 'recall' | 'start' | 'cancelTasks' | 'deleteTasks' | 'probe' }>,
  ): Promise<void> {
    switch (step.kind) {
      case 'look':
        return each(step.tasks, ({ node, name }) => this.#tasks.look(node, name));
      case 'read':
        return each(step.tasks, (task) => this.#readOutput(task));
      case 'keep':
        return this.#keep(step.keeps);
      case 'recall':
        return void (await this.#read());
      case 'start':
        return this.#start(step.operation, step.starts);
      case 'cancelTasks':
        return each(step.tasks, (task) => this.#tasks.patch(task, { cancelled: true }));
      case 'deleteTasks':
        return each(step.tasks, (task) => this.#tasks.delete(task));
      case 'probe':
        return this.#look(step);
    }
  }

  // The instance, its operations and members.

  #instances() {
    return this.#resource<AppInstance>(appInstanceKind);
  }

  #resource<T extends AppInstance | AppMember | AppOperation>(
    kind: typeof appInstanceKind | typeof appMemberKind | typeof appOperationKind,
  ) {
    return this.#options.client.resource<T>(kind).in(this.#instance.metadata.namespace);
  }

  #wroteInstance(instance: AppInstance): void {
    if (instance !== this.#instance) this.#options.wrote(instance);
    // Somebody has changed the wish meanwhile: the answer belongs to the one before.
    if (instance.metadata.generation !== this.#instance.metadata.generation) this.#wanted = unasked;
    this.#instance = instance;
  }

  async #writeStatus(status: AppInstance['status']): Promise<void> {
    const before = this.#instance;
    this.#wroteInstance(await patchStatus(this.#instances(), before, status ?? {}));
    for (const event of eventsFor(before.status, status)) this.#options.events.record(before, event);
  }

  async #begin({ name, beginning }: Extract<Step, { kind: 'begin' }>): Promise<void> {
    const { type, member, isAutomatic } = beginning;
    const { namespace = '', uid = '', name: instance = '' } = this.#instance.metadata;
    const annotations = isAutomatic === true ? { annotations: { [automaticAnnotation]: 'true' } } : {};
    const bare = newObject(appOperationKind, {
      metadata: { name, namespace, ...annotations, ...(type === 'decommission' && { labels: { [recordLabel]: uid } }) },
      spec: { instance, type, ...(member !== undefined && { member }) },
    }) as AppOperation;
    // Nobody asked for what the platform does by itself, and the instance does not say who deleted it.
    const operation = isAutomatic === true || type === 'decommission' ? bare : withRequester(bare, this.#instance);
    // The record of a removal outlives the instance if it has something to tell.
    const owned = type === 'decommission' ? operation : withController(operation, ownable(this.#instance));
    const resource = this.#resource<AppOperation>(appOperationKind);
    this.#wroteOperation((await ignoring(resource.create(owned), isAlreadyExists)) ?? (await resource.get(name)));
  }

  async #adopt(operation: AppOperation): Promise<void> {
    const { ownerReferences = [] } = withController(operation, ownable(this.#instance)).metadata;
    const { name = '', resourceVersion = '' } = operation.metadata;
    const patch = { metadata: { resourceVersion, ownerReferences: ownerReferences.map((one) => ({ ...one })) } };
    this.#wroteOperation(await this.#resource<AppOperation>(appOperationKind).patch(name, { type: 'merge', patch }));
  }

  async #writeOperation(operation: AppOperation, status: AppOperation['status']): Promise<void> {
    this.#wroteOperation(await patchStatus(this.#resource<AppOperation>(appOperationKind), operation, status ?? {}));
    for (const event of operationEvents(operation, status)) this.#options.events.record(this.#instance, event);
  }

  #wroteOperation(operation: AppOperation): void {
    this.#options.wrote(operation, appOperationKind);
    this.#operations.set(operation.metadata.name ?? '', operation);
  }

  async #deleteOperation({ metadata: { name = '' } }: AppOperation): Promise<void> {
    await ignoring(this.#resource<AppOperation>(appOperationKind).delete(name), isNotFound);
    this.#operations.delete(name);
  }

  async #createMember({ name, component, allocation, node }: Target): Promise<void> {
    const { namespace = '', name: instance = '' } = this.#instance.metadata;
    const spec = { instance, component, allocation, node };
    const bare = withRequester(newObject(appMemberKind, { metadata: { name, namespace }, spec }) as AppMember, this.#instance);
    const member = withController(bare, ownable(this.#instance));
    const resource = this.#resource<AppMember>(appMemberKind);
    const made = (await ignoring(resource.create(member), isAlreadyExists)) ?? (await resource.get(name));
    if (made.metadata.ownerReferences?.some(({ uid }) => uid === this.#instance.metadata.uid)) return this.#wroteMember(made);
    this.#taken.set(name, made.spec.instance);
  }

  #wroteMember(member: AppMember): void {
    this.#options.wrote(member, appMemberKind);
    this.#members.set(member.metadata.name ?? '', member);
  }

  async #deleteMember({ metadata: { name = '', uid = '' } }: AppMember): Promise<void> {
    await ignoring(this.#resource<AppMember>(appMemberKind).delete(name, { preconditions: { uid } }), isNotFound);
    this.#members.delete(name);
  }

  // Questions to the adapter.

  #adapter(): FoundAdapter {
    return this.#options.adapterOf(this.scene().app!);
  }

  /** In the same order in every question: adapters write it into files. */
  #subject(members: readonly AppMember[] = this.scene().members): Subject {
    const scene = this.scene();
    const view = viewOf(scene);
    const isRemoved = this.#instance.metadata.deletionTimestamp !== undefined;
    return {
      instance: this.#instance,
      app: scene.app!,
      workspace: this.#options.workspace,
      members,
      node: scene.node,
      isWanted: (member) => !isRemoved && (view.kind === 'clear' ? isWanted(member, view.targets) : member.status?.joined === true),
    };
  }

  #askMembers(): Promise<Asked<MembersAnswer>> {
    const scene = this.scene();
    const names = namesIn(this.#instance).filter((name) => scene.useOf(name).kind !== 'missing');
    return askMembers(() => this.#adapter(), this.#subject(), scene.useOf, names);
  }

  async #read(): Promise<KeptValues> {
    return (this.#values ??= await this.#keeper.values());
  }

  /** The plan that is kept, or a new one. Its secrets exist, and it is kept, before anything of it is done. */
  async #plan(operation: AppOperation): Promise<Asked<KeptPlan>> {
    const { copies, memory } = this.#options;
    if (!operation.spec.dryRun) {
      const { uid = '' } = operation.metadata;
      const kept = memory.plans.get(uid) ?? (await this.#keeper.plan());
      if (kept?.operation === uid) {
        memory.plans.set(uid, kept);
        return { kind: 'answer', value: kept };
      }
    }
    const { app } = this.scene();
    if (app === undefined) {
      const message = `there is no App ${this.#instance.spec.app} in the catalog, so nobody knows the steps`;
      return { kind: 'problem', problem: { code: 'NoApp', message, userFixable: false, retryable: true }, isUnavailable: true };
    }
    const view = viewOf(this.scene());
    const shown =
      operation.spec.dryRun && view.kind === 'clear' ? withTargets([...this.#members.values()], view.targets, this.#instance) : undefined;
    if (operation.spec.dryRun && view.kind === 'problem') return view;
    if (operation.spec.dryRun && view.kind === 'waiting' && this.#members.size === 0) {
      const problem = { code: 'AllocationPending', message: view.message, userFixable: true, retryable: true };
      return { kind: 'problem', problem, isUnavailable: false };
    }
    const values = await this.#read();
    const scripts = { hashOf: (name: string) => scriptHash(copies, name) };
    const plan = await askPlan(() => this.#adapter(), {
      subject: this.#subject(shown),
      operation,
      values,
      scripts,
      reporting: app.spec.adapter.url === undefined || operation.spec.dryRun ? undefined : await this.#account.token(),
    });
    if (plan.kind !== 'answer' || operation.spec.dryRun) return plan;
    await this.#keeper.ensureSecrets(plan.value.secrets ?? [], values);
    this.#values = undefined;
    if (await this.#keeper.keepPlan(plan.value)) return plan;
    return {
      kind: 'problem',
      problem: { code: 'PlanRefused', message: 'the plan is too large to be kept', userFixable: false, retryable: false },
      isUnavailable: false,
    };
  }

  #probes(): Scene['probe'] {
    const { copies, memory } = this.#options;
    return probesOf({
      instance: this.#instance.metadata.uid ?? '',
      app: copies.apps.get({ name: this.#instance.spec.app }),
      request: () => instanceRequest(this.#subjectForProbe(), { secrets: new Map(), facts: {} }),
      adapter: () => this.#adapter(),
      answer: this.#wanted.kind === 'answer' ? this.#wanted.value : undefined,
      hashOf: (script) => scriptHash(copies, script),
      memory,
    });
  }

  #subjectForProbe(): Subject {
    const { copies } = this.#options;
    return {
      instance: this.#instance,
      app: copies.apps.get({ name: this.#instance.spec.app })!,
      workspace: this.#options.workspace,
      members: this.scene().members,
      node: (node) => copies.nodes.get({ name: node }),
      isWanted: () => true,
    };
  }

  async #observe(): Promise<void> {
    const probes = probeAnswers(this.scene(), this.#options.memory);
    const answer = await asked(async () => this.#adapter().observe({ ...instanceRequest(this.#subject(), await this.#read()), probes }));
    const silent: Observation = { health: 'unknown', message: answer.kind === 'problem' ? answer.problem.message : '', members: {} };
    this.#observation = answer.kind === 'answer' ? answer : { kind: 'answer', value: silent };
  }

  // Tasks.

  async #start(operation: AppOperation, starts: readonly Start[]): Promise<void> {
    const values = await this.#valuesFor(starts);
    await each(starts, (start) => this.#tasks.start(start, { instance: this.#instance, operation, values }));
  }

  /** With a fresh token, if one of the steps delivers it. */
  async #valuesFor(starts: readonly Start[]): Promise<KeptValues> {
    const values = await this.#read();
    if (!starts.some(({ step }) => mentionsIn(step.task).secrets.has(reportTokenSecret))) return values;
    const { token } = await this.#account.token();
    return { ...values, secrets: new Map([...values.secrets, [reportTokenSecret, token]]) };
  }

  async #look({ members, tasks }: Extract<Step, { kind: 'probe' }>): Promise<void> {
    const { probe } = this.scene();
    const owners = new Map([...this.#members.values()].map(({ metadata }) => [probeName(metadata.uid ?? ''), metadata.name ?? '']));
    await each(members, async ({ metadata: { name = '', uid = '' }, spec }) => {
      const wanted = probe(name);
      if (wanted !== undefined) await this.#tasks.create(probeTask(this.#instance, { uid, node: spec.node }, wanted));
    });
    await each(tasks, async (task) => {
      const wanted = probe(owners.get(task.metadata.name ?? '') ?? '');
      if (wanted === undefined) return;
      if (task.spec.attempt >= mostProbeAttempts) return this.#tasks.delete(task);
      await this.#tasks.patch(task, nextProbe(task, wanted));
    });
  }

  async #readOutput(task: NodeTask): Promise<void> {
    const { readOutput, signal, memory } = this.#options;
    const output = await readOutput(task, signal);
    this.#outputs.set(outputKey(task), output);
    if (output.kind === 'read') memory.outputs.set(outputKey(task), output);
  }

  async #keep(keeps: readonly Keep[]): Promise<void> {
    const { output } = this.scene();
    const found = keeps.map(({ step, task }) => {
      const read = output(task);
      return { step, value: read.kind === 'read' ? read.text.replace(/\r?\n$/, '') : '' };
    });
    await this.#keeper.keep({
      facts: Object.fromEntries(found.flatMap(({ step, value }) => (step.keepsFact === undefined ? [] : [[step.keepsFact, value]]))),
      secrets: Object.fromEntries(found.flatMap(({ step, value }) => (step.keepsSecret === undefined ? [] : [[step.keepsSecret, value]]))),
    });
    this.#values = undefined;
    for (const { task } of keeps) this.#kept.add(task.metadata.name ?? '');
  }
}

const outputKey = ({ metadata, spec }: NodeTask): string => `${metadata.uid}/${spec.attempt}`;

/** Copies have no type, since lists have none. */
function ownable(instance: AppInstance): AppInstance {
  return { ...instance, apiVersion: `${appInstanceKind.group}/${appInstanceKind.version}`, kind: appInstanceKind.kind };
}

function byAge(one: AppOperation, other: AppOperation): number {
  const [a, b] = [one.metadata.creationTimestamp ?? '', other.metadata.creationTimestamp ?? ''];
  if (a !== b) return a < b ? -1 : 1;
  const [first, second] = [Number(one.metadata.resourceVersion ?? 0), Number(other.metadata.resourceVersion ?? 0)];
  return (one.metadata.name ?? '').localeCompare(other.metadata.name ?? '', 'en', { numeric: true }) || first - second;
}

async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const results = await Promise.allSettled(items.map(work));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
