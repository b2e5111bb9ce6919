import type { App, AppInstance, AppMember, AppOperation, GPUNode, NodeTask } from '@capstan/api';
import type { AccessAnswer, MembersAnswer, Observation } from '../adapter/contract.ts';
import type { AllocationUse } from '../checking/allocations.ts';
import type { Problem } from '../checking/problem.ts';
import type { Probe } from '../operations/making.ts';
import type { KeptPlan, Output } from '../operations/scene.ts';

/** The answer to a question that is only asked if a decision needs it. */
export type Asked<T> =
  | { readonly kind: 'unasked' }
  | { readonly kind: 'answer'; readonly value: T }
  /** `isUnavailable`: nobody could be asked; it is asked again. */
  | { readonly kind: 'problem'; readonly problem: Problem; readonly isUnavailable: boolean };

/** Everything that decides what happens to an instance, from the local copies and the answers so far. */
export interface Scene {
  readonly now: number;
  readonly instance: AppInstance;
  readonly app: App | undefined;
  readonly members: readonly AppMember[];
  /** Those that belong to the instance or to nobody yet, the oldest first. */
  readonly operations: readonly AppOperation[];
  /** Members that other instances have, by name, with the names of these instances. */
  readonly taken: ReadonlyMap<string, string>;
  readonly wanted: Asked<MembersAnswer>;
  /** The plan of an operation, by its UID. */
  readonly plan: (operation: string) => Asked<KeptPlan>;
  readonly useOf: (allocation: string) => AllocationUse;
  readonly node: (name: string) => GPUNode | undefined;
  readonly task: (node: string, name: string) => NodeTask | undefined;
  /** All tasks of the instance. */
  readonly tasks: readonly NodeTask[];
  readonly absent: ReadonlySet<string>;
  readonly output: (task: NodeTask) => Output;
  readonly kept: ReadonlySet<string>;
  /** The facts of the instance; undefined until somebody asks for them. */
  readonly facts: Readonly<Record<string, string>> | undefined;
  /** The probe of a member, if its adapter has one. In milliseconds: how often. */
  readonly probe: (member: string) => (Probe & { readonly every: number }) | undefined;
  /** The answer of `observe` to the probes as they are now. */
  readonly observation: Asked<Observation>;
  /** How the instance is used. */
  readonly access: Asked<AccessAnswer>;
  /** Whether the secrets of the instance are deleted. */
  readonly isForgotten: boolean;
}
