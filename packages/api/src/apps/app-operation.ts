import { immutable, objectName, timestamp } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { anything, choice, flag, integer, keyedList, object, optional, type ReadOf, text, withDefault } from '../definition/schema.ts';
import { appsGroup, lastErrors, operationFields, residues, word } from './fields.ts';

/** The operations of every app. The first three are begun by the platform itself; the others by people. */
export const commonOperations = [
  'deploy',
  'change',
  'decommission',
  'retry',
  'reconcile',
  'repair',
  'resume',
  'acknowledge',
  'cancel',
  'force-delete',
] as const;
export type CommonOperation = (typeof commonOperations)[number];

const step = object('One step.', {
  id: text('Identifies the step within the operation.', { minLength: 1, maxLength: 128, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }),
  title: text('Its purpose, for people.', { maxLength: 256 }),
  stage: integer('Steps of one stage run side by side, after all of the stage before.', { minimum: 0 }),
  member: optional(text('Name of the AppMember on whose node it runs.', { maxLength: 253 })),
  phase: optional(text('The phase of the instance while it runs.', { maxLength: 128 })),
  state: choice('How far it is.', ['pending', 'running', 'succeeded', 'skipped', 'failed', 'cancelled']),
  task: optional(text('Name of its NodeTask, in the namespace of the node.', { maxLength: 253 })),
  node: optional(text('Name of the node that its output is of. Absent if the output is a secret.', { maxLength: 253 })),
  attempts: optional(integer('How often it was tried.', { minimum: 0 })),
  tries: optional(integer('How often it was tried since a person last asked for it.', { minimum: 0 })),
  nextRetryAt: optional(timestamp('When it is tried again.')),
  message: optional(text('Why it waits or failed.', { maxLength: 1024 })),
  startedAt: optional(timestamp('When it began.')),
  finishedAt: optional(timestamp('When it ended.')),
});

const { type: _, ...progressFields } = operationFields;

export const appOperationKind = defineKind({
  group: appsGroup,
  kind: 'AppOperation',
  plural: 'appoperations',
  categories: ['capstan'],
  scope: 'Namespaced',
  streams: ['log'],
  description: 'Something that is done with an instance: begun by the platform after a change, or by a person.',
  versions: {
    v1alpha1: {
      spec: object('The request.', {
        instance: objectName('Name of the AppInstance.', { rules: [immutable] }),
        type: word('Type: one of the operations of every app, or of this one.'),
        member: optional(objectName('Name of the AppMember, for an operation on one.')),
        parameters: optional(anything('Parameters, as the schema of the operation says.')),
        dryRun: withDefault(flag('Only plans: the steps are shown, and nothing is done.'), false),
        skipSteps: optional(
          integer('With `dryRun`: how many steps of the plan come before the first that is shown, as `status.steps` has room for 512.', {
            minimum: 0,
            maximum: 8192,
          }),
        ),
        cancelled: withDefault(flag('Ends it at the next step.'), false),
      }),
      status: object('The operation as it is.', {
        ...progressFields,
        state: optional(progressFields.state),
        steps: optional(
          keyedList('The steps. Those of a plan with more than 512 are shown in parts, one after the other.', step, {
            keys: ['id'],
            maxItems: 512,
          }),
        ),
        errors: optional(lastErrors),
        observedGeneration: optional(integer('Generation of the instance that it works towards.', { minimum: 0 })),
        sequence: optional(integer('Its place among the operations of the instance, in the order in which they began.', { minimum: 1 })),
        revision: optional(text('Hash of the wish that it works towards.', { maxLength: 64 })),
        residues: optional(residues),
        instructions: optional(
          text('Instructions for the person who has to act, if the state is `needs_intervention` or `failed`.', { maxLength: 4096 }),
        ),
      }),
      columns: [
        { name: 'Instance', type: 'string', path: '.spec.instance' },
        { name: 'Type', type: 'string', path: '.spec.type' },
        { name: 'State', type: 'string', path: '.status.state' },
        { name: 'Step', type: 'string', path: '.status.step' },
        { name: 'Message', type: 'string', path: '.status.message' },
      ],
    },
  },
});

export type AppOperation = ObjectOf<typeof appOperationKind>;
export type AppOperationStatus = NonNullable<AppOperation['status']>;
export type AppStep = ReadOf<typeof step>;
