import type { AppInstanceStatus, AppMember, AppMemberStatus, AppOperation, AppOperationStatus, NodeTask } from '@capstan/api';
import type { Beginning } from '../operations/beginning.ts';
import type { Start, TaskReference } from '../operations/scene.ts';
import type { Keep } from '../operations/steps.ts';
import type { Target } from './targets.ts';

/** The next thing to do for an instance. Afterwards, or after a crash, everything is looked at again. */
export type Step =
  | { readonly kind: 'protect' }
  | { readonly kind: 'adopt'; readonly operations: readonly AppOperation[] }
  | { readonly kind: 'askMembers' }
  | { readonly kind: 'createMembers'; readonly targets: readonly Target[] }
  | { readonly kind: 'deleteMembers'; readonly members: readonly AppMember[] }
  | { readonly kind: 'memberStatus'; readonly writes: readonly { readonly member: AppMember; readonly status: AppMemberStatus }[] }
  | { readonly kind: 'begin'; readonly name: string; readonly beginning: Beginning }
  | { readonly kind: 'operationStatus'; readonly operation: AppOperation; readonly status: AppOperationStatus }
  | { readonly kind: 'cancelOperation'; readonly operation: AppOperation }
  | { readonly kind: 'deleteOperations'; readonly operations: readonly AppOperation[] }
  /** Ask the adapter for the steps, check them, and keep them. */
  | { readonly kind: 'plan'; readonly operation: AppOperation }
  | { readonly kind: 'look'; readonly tasks: readonly TaskReference[] }
  | { readonly kind: 'read'; readonly tasks: readonly NodeTask[] }
  /** Keep the outputs of tasks as facts or secrets. */
  | { readonly kind: 'keep'; readonly keeps: readonly Keep[] }
  /** Read the facts of the instance. */
  | { readonly kind: 'recall' }
  | { readonly kind: 'start'; readonly operation: AppOperation; readonly starts: readonly Start[] }
  | { readonly kind: 'cancelTasks'; readonly tasks: readonly NodeTask[] }
  | { readonly kind: 'deleteTasks'; readonly tasks: readonly NodeTask[] }
  /** Look at members: with a new task, or with the next attempt of the one that there is. */
  | { readonly kind: 'probe'; readonly members: readonly AppMember[]; readonly tasks: readonly NodeTask[] }
  | { readonly kind: 'observe' }
  | { readonly kind: 'askAccess' }
  | { readonly kind: 'status'; readonly status: AppInstanceStatus }
  /** Delete the secrets, facts and plans of the instance. */
  | { readonly kind: 'forget' }
  | { readonly kind: 'deleteInstance' }
  | { readonly kind: 'letGo' }
  /** Nothing until something changes; in milliseconds. */
  | { readonly kind: 'wait'; readonly atMost?: number };

export const appFinalizer = 'apps.capstan.dev/members';
