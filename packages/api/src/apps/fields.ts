import { timestamp } from '../definition/common.ts';
import { choice, flag, integer, list, object, optional, type ReadOf, text } from '../definition/schema.ts';

export const appsGroup = 'apps.capstan.dev';

/** The health of an instance or a member. `unknown`: nobody has been able to look. */
export const appHealths = ['progressing', 'healthy', 'degraded', 'failed', 'unknown'] as const;
export type AppHealth = (typeof appHealths)[number];

/** The states of an operation. `retrying` goes on by itself, `failed` does not, and `needs_intervention` waits for a person. */
export const operationStates = ['pending', 'processing', 'retrying', 'succeeded', 'failed', 'cancelled', 'needs_intervention'] as const;
export type OperationState = (typeof operationStates)[number];

/** The states in which nobody works on an operation any more. */
export const finalOperationStates: ReadonlySet<string> = new Set<OperationState>(['succeeded', 'failed', 'cancelled']);

/** A short lower-case name, such as that of a component or an operation. */
export const word = (description: string) => text(description, { minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' });

export const health = choice('How it is.', [...appHealths]);

export const progress = object('How much of the current work is done.', {
  completed: integer('Steps that are done.', { minimum: 0 }),
  total: integer('Steps in all.', { minimum: 0 }),
});

export const operationFields = {
  type: word('Type of the operation, such as `deploy` or `repair`.'),
  state: choice('How far it is.', [...operationStates]),
  step: optional(text('The step that is done now, or that failed.', { maxLength: 256 })),
  message: optional(text('The thing that it waits for, or why it does not go on.', { maxLength: 4096 })),
  progress: optional(progress),
  attempts: optional(integer('Attempts of the current step so far.', { minimum: 0 })),
  attemptLimit: optional(integer('Attempts after which a person has to decide.', { minimum: 1 })),
  nextRetryAt: optional(timestamp('When it is tried again.')),
  startedAt: optional(timestamp('When it began.')),
  finishedAt: optional(timestamp('When it ended.')),
};

export const lastOperation = object('The operation that runs, or the last one that ran.', {
  id: text('Name of the AppOperation.', { maxLength: 253 }),
  ...operationFields,
});
export type LastOperation = ReadOf<typeof lastOperation>;

const appError = object('One problem.', {
  code: text('A word for programs, such as `ServerBootstrapTimeout`.', { minLength: 1, maxLength: 64, pattern: '^[A-Z][A-Za-z0-9]*$' }),
  message: text('Details for people.', { maxLength: 4096 }),
  member: optional(text('Name of the AppMember.', { maxLength: 253 })),
  step: optional(text('The step that failed.', { maxLength: 256 })),
  task: optional(text('The node and the name of the task that has the whole output, such as `gpu-1/app-x`.', { maxLength: 512 })),
  output: optional(text('The last lines of its output.', { maxLength: 16_384 })),
  userFixable: flag('Whether the person who asked can fix it.'),
  retryable: flag('Whether trying again may help.'),
  time: optional(timestamp('When it was seen.')),
});
export type AppError = ReadOf<typeof appError>;

export const lastErrors = list('The current problems, the most important first.', appError, { maxItems: 32 });

const constraint = object('Why an action is refused now.', {
  action: word('Name of the action.'),
  member: optional(text('Name of the AppMember, for an action on one.', { maxLength: 253 })),
  reason: text('A word for programs.', { minLength: 1, maxLength: 64, pattern: '^[A-Z][A-Za-z0-9]*$' }),
  message: text('Details for people.', { maxLength: 1024 }),
});
export type AppConstraint = ReadOf<typeof constraint>;

export const constraints = list('Why actions are refused now.', constraint, { maxItems: 64 });

const allowedAction = object('Something that can be done now, by creating an AppOperation of this type.', {
  action: word('Type of the operation.'),
  member: optional(text('Name of the AppMember, for an action on one.', { maxLength: 253 })),
  title: text('Name of the action for people.', { maxLength: 128 }),
  isDestructive: flag('Whether it should be confirmed.'),
});
export type AllowedAction = ReadOf<typeof allowedAction>;

export const allowedActions = list('Operations that can be begun now. Rights are checked when one is.', allowedAction, { maxItems: 256 });

export const residues = list(
  'Things that could not be removed from nodes.',
  object('Something that is left on a node.', {
    member: text('Name of the AppMember.', { maxLength: 253 }),
    node: text('Name of the node.', { maxLength: 253 }),
    name: text('The subject, such as a path, a mount or a network interface.', { minLength: 1, maxLength: 253 }),
    message: text('The finding.', { maxLength: 1024 }),
  }),
  { maxItems: 256 },
);
export type AppResidue = ReadOf<typeof residues>[number];

/** On everything of an instance in root:platform: the UID of the instance. */
export const appInstanceLabel = 'apps.capstan.dev/instance';
/** On an AppInstance: nothing is done for it but the plans of operations with `dryRun`, and it is deleted soon. */
export const appPreviewAnnotation = 'apps.capstan.dev/preview';
