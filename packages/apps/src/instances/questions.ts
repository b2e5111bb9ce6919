import type { App, AppInstance, AppMember, AppOperation, GPUNode, NodeTask } from '@capstan/api';
import { isObject, type JsonObject } from '@capstan/machinery';
import type { AdapterMember, InstanceRequest, MembersAnswer, PlanRequest, ProbeAnswer } from '../adapter/contract.ts';
import { AdapterProblem } from '../adapter/contract.ts';
import { AdapterUnavailable, type FoundAdapter } from '../adapter/finding.ts';
import { adapterInstance, adapterMember, adapterNode } from '../adapter/requests.ts';
import type { AllocationUse } from '../checking/allocations.ts';
import { checkPlan, type PlanPlace } from '../checking/plan.ts';
import type { Problem } from '../checking/problem.ts';
import { type Wish, wishOf } from '../checking/wish.ts';
import type { KeptValues } from '../keeping/kept-values.ts';
import { outcomeOf } from '../operations/outcome.ts';
import { placeOf } from '../operations/running.ts';
import type { KeptPlan, Output } from '../operations/scene.ts';
import { probeName } from '../operations/task-names.ts';
import type { Memory } from './memory.ts';
import type { Asked, Scene } from './scene.ts';
import type { Target } from './targets.ts';

/** Everything that questions to an adapter are made of. */
export interface Subject {
  readonly instance: AppInstance;
  readonly app: App;
  readonly workspace: string;
  readonly members: readonly AppMember[];
  readonly isWanted: (member: AppMember) => boolean;
  readonly node: (name: string) => GPUNode | undefined;
}

/** The wish, or as much of it as an instance has whose wish is not valid any more: enough to remove it. */
function wishFor({ instance, app }: Subject): Wish {
  const wish = wishOf(instance, app);
  if (wish.kind === 'ok') return wish.value;
  const asObject = (value: unknown): JsonObject => (isObject(value) ? (value as JsonObject) : {});
  const version = instance.status?.version ?? instance.spec.version ?? '';
  const artifacts = app.spec.versions.find(({ name }) => name === version)?.artifacts ?? [];
  return {
    version,
    artifacts: Object.fromEntries(artifacts.map(({ name, sha256 }) => [name, sha256])),
    placement: asObject(instance.spec.placement),
    parameters: asObject(instance.spec.parameters),
  };
}

export function instanceRequest(subject: Subject, values: KeptValues): InstanceRequest {
  const { instance, app, workspace, members, isWanted, node } = subject;
  return {
    instance: adapterInstance(instance, app, { wish: wishFor(subject), workspace }),
    members: members.map((member): AdapterMember => adapterMember(member, node(member.spec.node), isWanted(member))),
    facts: values.facts,
  };
}

/** The answer, or the reason why there is none. Only problems that the adapter names are its answer; everything else is a failure of the adapter. */
export async function asked<T>(question: () => Promise<T>): Promise<Asked<T>> {
  try {
    return { kind: 'answer', value: await question() };
  } catch (error) {
    const isUnavailable = error instanceof AdapterUnavailable;
    if (error instanceof AdapterProblem) {
      const { code, message, userFixable } = error;
      return { kind: 'problem', problem: { code, message: message.slice(0, 4096), userFixable, retryable: isUnavailable }, isUnavailable };
    }
    const message = `the adapter has failed: ${error instanceof Error ? error.message : String(error)}`.slice(0, 4096);
    return { kind: 'problem', problem: { code: 'AdapterFailed', message, userFixable: false, retryable: true }, isUnavailable: true };
  }
}

export function askMembers(
  adapter: () => FoundAdapter,
  subject: Subject,
  useOf: (allocation: string) => AllocationUse,
  names: readonly string[],
): Promise<Asked<MembersAnswer>> {
  return asked(async () => {
    const instance = adapterInstance(subject.instance, subject.app, { wish: wishFor(subject), workspace: subject.workspace });
    const allocations = names.map((name) => {
      const use = useOf(name);
      return use.kind === 'usable'
        ? { name, isExclusive: true, node: adapterNode(use.node, subject.node(use.node)) }
        : { name, isExclusive: use.kind !== 'unusable' || use.code !== 'NotExclusive' };
    });
    return adapter().members({ instance, allocations });
  });
}

/** A plan that was asked for and checked as a whole. */
export async function askPlan(
  adapter: () => FoundAdapter,
  {
    subject,
    operation,
    values,
    scripts,
    reporting,
  }: {
    readonly subject: Subject;
    readonly operation: AppOperation;
    readonly values: KeptValues;
    readonly scripts: PlanPlace['scripts'];
    readonly reporting?: PlanRequest['reporting'];
  },
): Promise<Asked<KeptPlan>> {
  const common = instanceRequest(subject, values);
  const { metadata, spec } = operation;
  const request: PlanRequest = {
    ...common,
    ...(reporting !== undefined && { reporting }),
    operation: {
      id: metadata.uid ?? '',
      type: spec.type,
      ...(spec.member !== undefined && { member: spec.member }),
      parameters: isObject(spec.parameters) ? (spec.parameters as JsonObject) : {},
    },
  };
  const answer = await asked(() => adapter().plan(request));
  if (answer.kind !== 'answer') return answer;
  const checked = checkPlan(answer.value, {
    app: subject.app,
    members: new Set(common.members.map(({ name }) => name)),
    secrets: new Set(values.secrets.keys()),
    facts: new Set(Object.keys(values.facts)),
    scripts,
    artifacts: new Set(Object.values(common.instance.artifacts)),
  });
  if (checked.kind === 'problem') return { kind: 'problem', problem: checked.problem as Problem, isUnavailable: false };
  return { kind: 'answer', value: { ...checked.value, operation: metadata.uid ?? '', version: common.instance.version } };
}

/** Members as they would be, for a plan that is only shown. */
export function withTargets(members: readonly AppMember[], targets: readonly Target[], { metadata }: AppInstance): AppMember[] {
  const missing = targets.filter(({ name }) => !members.some((one) => one.metadata.name === name));
  return [
    ...members,
    ...missing.map(({ name, component, allocation, node }) => ({
      apiVersion: '',
      kind: 'AppMember',
      metadata: { name, namespace: metadata.namespace },
      spec: { instance: metadata.name ?? '', component, allocation, node },
    })),
  ] as AppMember[];
}

const mostOutput = 65_536;

/** The last answers of the probes of members that are heard, by their names. An attempt that runs says nothing yet, so the one before counts. */
export function probeAnswers(scene: Scene, { answers }: Memory): Record<string, ProbeAnswer> {
  const found: Record<string, ProbeAnswer> = {};
  for (const { metadata, spec } of scene.members) {
    const { name = '', uid = '' } = metadata;
    const task = placeOf(name, scene).kind === 'heard' ? scene.task(spec.node, probeName(uid)) : undefined;
    if (task === undefined) continue;
    const key = task.metadata.uid ?? '';
    const answer = outcomeOf(task).kind === 'open' ? answers.get(key) : probeAnswer(task, scene.output(task));
    if (answer === undefined) continue;
    answers.set(key, answer);
    found[name] = answer;
  }
  return found;
}

/** The answer of an attempt that has ended. */
function probeAnswer(task: NodeTask, output: Output): ProbeAnswer | undefined {
  if (output.kind !== 'read') return undefined;
  return { exitCode: task.status?.exitCode ?? (task.status?.phase === 'Succeeded' ? 0 : 124), output: output.text.slice(-mostOutput) };
}
