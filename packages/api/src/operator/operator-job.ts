import { duration, immutable, objectName, timestamp } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { choice, flag, integer, object, optional, text, withDefault } from '../definition/schema.ts';

export const operatorGroup = 'operator.capstan.dev';

export const operatorJobPhases = ['Queued', 'Running', 'Succeeded', 'Failed', 'Cancelled'] as const;
export type OperatorJobPhase = (typeof operatorJobPhases)[number];

/** The phases in which nobody works on it any more. */
export const finalOperatorJobPhases: ReadonlySet<string> = new Set<OperatorJobPhase>(['Succeeded', 'Failed', 'Cancelled']);

const stock = object(
  'Raises the stock of an offering.',
  {
    offering: objectName('Name of the Offering.'),
    count: integer('How many warm units it should have at least.', { minimum: 1, maximum: 1024 }),
  },
  { rules: [immutable] },
);

export const operatorJobKind = defineKind({
  group: operatorGroup,
  kind: 'OperatorJob',
  plural: 'operatorjobs',
  categories: ['capstan'],
  scope: 'Cluster',
  description:
    'Work that the REST API does for the owner of the platform, and that takes longer than a request. One replica works on it; another one goes on if that ends.',
  versions: {
    v1alpha1: {
      spec: object('The work.', {
        stock,
        deadline: withDefault(duration('The job fails if it takes longer.'), '30m'),
        cancelled: withDefault(flag('Ends the work. Things that were done stay.'), false),
      }),
      status: object('How far the work is.', {
        phase: withDefault(choice('State in one word.', [...operatorJobPhases]), 'Queued'),
        message: optional(text('How far it is, or why it does not go on.', { maxLength: 4096 })),
        ready: optional(integer('Warm units that are ready.', { minimum: 0 })),
        total: optional(integer('Warm units that should be ready.', { minimum: 0 })),
        isRaised: optional(flag('Whether the offering was changed. It is changed once.')),
        holder: optional(text('The replica that works on it.', { maxLength: 253 })),
        renewedAt: optional(timestamp('When the replica was last heard of.')),
        finishedAt: optional(timestamp('When it ended.')),
      }),
      columns: [
        { name: 'Offering', type: 'string', path: '.spec.stock.offering' },
        { name: 'Count', type: 'integer', path: '.spec.stock.count' },
        { name: 'Phase', type: 'string', path: '.status.phase' },
        { name: 'Ready', type: 'integer', path: '.status.ready' },
        { name: 'Message', type: 'string', path: '.status.message' },
      ],
    },
  },
});

export type OperatorJob = ObjectOf<typeof operatorJobKind>;
export type OperatorJobStatus = NonNullable<OperatorJob['status']>;
