import type { AppOperation, AppStep, NodeTask } from '@capstan/api';
import type { Plan, PlannedStep } from '../adapter/contract.ts';

/** A plan that was checked. It is kept until the next operation, so that a restart goes on with the same steps. */
export interface KeptPlan extends Plan {
  /** UID of the operation. */
  readonly operation: string;
  /** The version that it installs. */
  readonly version: string;
}

/** Whether steps can be done on the node of a member. */
export type Place =
  | { readonly kind: 'heard'; readonly node: string }
  | { readonly kind: 'silent'; readonly node: string }
  /** Its node is lost, or its allocation no longer gives the node to the instance alone. */
  | { readonly kind: 'gone'; readonly node: string; readonly code: string; readonly message: string };

export type Output =
  | { readonly kind: 'unread' }
  | { readonly kind: 'read'; readonly text: string }
  | { readonly kind: 'unavailable'; readonly message: string };

/** Everything that decides how an operation goes on. */
export interface OperationScene {
  readonly now: number;
  readonly operation: AppOperation;
  readonly plan: KeptPlan;
  readonly isPaused: boolean;
  readonly place: (member: string) => Place;
  readonly task: (node: string, name: string) => NodeTask | undefined;
  /** Tasks that the server does not have, by name. */
  readonly absent: ReadonlySet<string>;
  /** The last lines of the output of a task. */
  readonly output: (task: NodeTask) => Output;
  /** Tasks whose output was kept as a fact or a secret. */
  readonly kept: ReadonlySet<string>;
  /** The facts of the instance; undefined until somebody asks for them. */
  readonly facts: Readonly<Record<string, string>> | undefined;
}

export interface Start {
  readonly step: PlannedStep;
  readonly node: string;
  readonly name: string;
}

export interface TaskReference {
  readonly node: string;
  readonly name: string;
}

/** Steps that are over. A failed one is only here if the operation goes on without it. */
export const isOver = ({ state }: AppStep): boolean => state !== 'pending' && state !== 'running';
