import type { AppHealth, TaskField, TaskParameters, TaskTypeName, taskTypes } from '@capstan/api';
import type { JsonObject } from '@capstan/machinery/objects';

/**
 * The interface of adapters: a set of pure questions. Given an instance as it is, which steps lead to the wish, how healthy is it, how is it used?
 * An adapter has no credentials and no connection to nodes: the platform checks its steps and runs them. All of it is JSON, so an adapter can be a web service.
 */
export interface Adapter {
  /** Which members the placement asks for. Throws `AdapterProblem` if the placement makes no sense. */
  members(request: MembersRequest): Promise<MembersAnswer>;
  /** The steps of an operation, all of them, in order. Called again to resume or retry: the same question gets the same answer. */
  plan(request: PlanRequest): Promise<Plan>;
  /** Turns the answers of probes into health. */
  observe(request: ObserveRequest): Promise<Observation>;
  /** How the instance is used. */
  access(request: InstanceRequest): Promise<AccessAnswer>;
}

/** An instance as its tenant wants it. */
export interface AdapterInstance {
  /** Its UID, which no other instance ever has. */
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  /** Path of the workspace. */
  readonly workspace: string;
  readonly app: string;
  readonly version: string;
  /** SHA-256 of each artifact of the version, by its name. */
  readonly artifacts: Readonly<Record<string, string>>;
  readonly placement: JsonObject;
  readonly parameters: JsonObject;
}

export interface AdapterAllocation {
  readonly name: string;
  /** An Allocation without a node is not active yet. */
  readonly node?: AdapterNode;
  readonly isExclusive: boolean;
}

export interface AdapterNode {
  readonly name: string;
  /** The address by which other members reach it. */
  readonly address: string;
  readonly hostname: string;
  readonly cpus: number;
  readonly memoryMiB: number;
  readonly gpus: readonly AdapterGpu[];
  /** Whether its agent is heard of. */
  readonly isReady: boolean;
}

export interface AdapterGpu {
  readonly uuid: string;
  readonly model: string;
  readonly index: number;
  /** Its device file, such as `/dev/nvidia0`, where there is one. */
  readonly device?: string;
  readonly isHealthy: boolean;
}

export interface MembersRequest {
  readonly instance: AdapterInstance;
  readonly allocations: readonly AdapterAllocation[];
}

export interface MembersAnswer {
  readonly members: readonly WantedMember[];
  /** For adapters that are web services: the probe of the members of each component. */
  readonly probes?: Readonly<Record<string, AdapterProbe>>;
}

export interface WantedMember {
  readonly component: string;
  /** Name of the Allocation. An allocation has at most one member of an instance. */
  readonly allocation: string;
}

/** A member as it is. */
export interface AdapterMember {
  /** Name of the AppMember: stable, a DNS label, and unique within the workspace. */
  readonly name: string;
  readonly component: string;
  readonly allocation: string;
  readonly node: AdapterNode;
  readonly state: string;
  /** Whether the placement still asks for it. */
  readonly isWanted: boolean;
  /** Whether an operation has completed that made it a part of the instance. */
  readonly hasJoined: boolean;
}

/** Findings of earlier steps, by the names that they gave them. Kept until the instance is gone. */
export type Facts = Readonly<Record<string, string>>;

export interface InstanceRequest {
  readonly instance: AdapterInstance;
  readonly members: readonly AdapterMember[];
  readonly facts: Facts;
}

export interface PlanRequest extends InstanceRequest {
  readonly operation: {
    /** Unique; the same when the operation is planned again. */
    readonly id: string;
    /** `deploy`, `change`, `decommission`, `reconcile`, `repair`, `stop`, `start`, or an operation of the App's own. */
    readonly type: string;
    readonly member?: string;
    readonly parameters: JsonObject;
  };
  /** For adapters that are web services: a token with which they may report on this instance, and do nothing else. */
  readonly reporting?: { readonly token: string; readonly expiresAt: string } | undefined;
}

/** The most steps of a plan. */
export const mostSteps = 8192;

export interface Plan {
  /** At most `mostSteps`. */
  readonly steps: readonly PlannedStep[];
  /** Secrets of the instance that must exist; the platform makes those that do not. Steps use them as `${secret:name}`. */
  readonly secrets?: readonly WantedSecret[];
  /** Members of which the operation makes a part of the instance, or which are no longer one, once it has succeeded. */
  readonly joins?: readonly string[];
  readonly leaves?: readonly string[];
  /** The phase when all is done. */
  readonly phase: string;
}

export interface WantedSecret {
  readonly name: string;
  readonly bytes: number;
  readonly encoding: 'hex' | 'base64' | 'base64url';
}

/** A step is one task on the node of one member. Its effects are the same if it is done twice. */
export type PlannedStep = {
  [T in TaskTypeName]: StepTask<T> & StepFields;
}[TaskTypeName];

/**
 * Text in parameters may contain `${secret:name}`, `${fact:name}` and `$${` for `${`. The platform replaces them when it writes the task, so that a plan that is shown contains no secrets.
 * A task with secrets gets them through a Secret of the node's namespace that is deleted with the task.
 */
interface StepTask<T extends TaskTypeName> {
  readonly type: T;
  readonly task: TaskParameters<(typeof taskTypes)[T] & TaskField>;
}

interface StepFields {
  /** Unique within the plan, and the same whenever the operation is planned again: `join-agent-1`. */
  readonly id: string;
  readonly title: string;
  readonly member: string;
  /** Steps of one stage run side by side, after all of the stage before. */
  readonly stage: number;
  /** The phase of the instance while the step runs. */
  readonly phase?: string;
  /** As in a task: `90s`. */
  readonly deadline?: string;
  /** Attempts, the first included, with growing pauses. 3 if absent; 1 for a step that must not be repeated. */
  readonly attempts?: number;
  /** Keeps the output, without the last line break, as a fact or a secret. */
  readonly keepsFact?: string;
  readonly keepsSecret?: string;
  /** The code in `lastErrors` if it fails; that of the task if absent. */
  readonly code?: string;
  /** The codes for exit codes of a script, such as `{ '21': 'PortInUse' }`. They come before `code`. */
  readonly exitCodes?: Readonly<Record<string, string>>;
  /** The step is skipped unless the fact has this value when its turn comes. */
  readonly when?: { readonly fact: string; readonly is: string };
  /**
   * The meaning of a final failure. `fail` (default): the operation has failed. `degrade`: the member has failed, its later steps are skipped and the operation goes on.
   * `continue`: it is reported and nothing else. `intervene`: a person must act, see `instructions`.
   */
  readonly onFailure?: 'fail' | 'degrade' | 'continue' | 'intervene';
  /** For the person who has to act after `fail` or `intervene`. */
  readonly instructions?: string;
  /** The findings of the task are residues of the member: what could not be removed. */
  readonly reportsResidue?: boolean;
}

export interface ObserveRequest extends InstanceRequest {
  /** The answer of the probe of each member, by its name. Absent if the node is silent. */
  readonly probes: Readonly<Record<string, ProbeAnswer>>;
}

export interface ProbeAnswer {
  readonly exitCode: number;
  /** At most 64 KiB. */
  readonly output: string;
}

export interface Observation {
  readonly health: AppHealth;
  readonly message?: string;
  readonly members: Readonly<Record<string, MemberObservation>>;
  /** Whether `reconcile` would change something. */
  readonly hasDrifted?: boolean;
  /** If the App has an operation `rotate-certificates`, the platform begins it 30 days before. */
  readonly certificatesExpireAt?: string;
  /** Whether operations of the App may be done now; those that are not named may. */
  readonly refused?: readonly { readonly operation: string; readonly member?: string; readonly reason: string; readonly message: string }[];
}

export interface MemberObservation {
  readonly health: AppHealth;
  readonly message?: string;
  readonly endpoint?: string;
  readonly detail?: JsonObject;
  /** Whether `repair` of this member may help. */
  readonly isRepairable?: boolean;
}

export interface AccessAnswer {
  readonly endpoints?: readonly { readonly name: string; readonly address: string }[];
  readonly notes?: readonly string[];
  /** A member that serves the Kubernetes API of the instance; others of its component may serve it too. Its node knows where: a step writes `access.json`. */
  readonly kubernetes?: { readonly member: string };
  /** The member that gives shells. */
  readonly shell?: string;
}

/** The probe of a member: a script that the App permits. It is run again and again, so it must be quick and change nothing. */
export interface AdapterProbe {
  readonly script: string;
  readonly arguments?: readonly string[];
  readonly every: string;
}

/** An adapter that is a part of Capstan. */
export interface BuiltInAdapter extends Adapter {
  readonly name: string;
  probe(member: AdapterMember, request: InstanceRequest): AdapterProbe | undefined;
}

/** A wish that cannot be fulfilled, with the reason. */
export class AdapterProblem extends Error {
  override readonly name = 'AdapterProblem';
  readonly code: string;
  readonly userFixable: boolean;

  constructor(code: string, message: string, { userFixable = true } = {}) {
    super(message);
    this.code = code;
    this.userFixable = userFixable;
  }
}
