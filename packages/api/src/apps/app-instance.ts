import { conditions, immutable, objectName, timestamp } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { anything, choice, flag, integer, list, object, optional, text, withDefault } from '../definition/schema.ts';
import { allowedActions, appsGroup, constraints, health, lastErrors, lastOperation, progress, residues } from './fields.ts';
import { reportedPhase } from './reports.ts';

const endpoint = object('An address of the instance.', {
  name: text('Its purpose, such as `api`.', { minLength: 1, maxLength: 63 }),
  address: text('The address, such as `https://10.0.0.4:6443`.', { maxLength: 2048 }),
});

const access = object('How the instance is used.', {
  endpoints: optional(list('Its addresses in the network of the nodes.', endpoint, { maxItems: 16 })),
  kubeconfig: optional(flag('Whether a kubeconfig can be had.')),
  kubernetes: optional(text('The AppMember that serves the Kubernetes API. Others of its component may serve it too.', { maxLength: 253 })),
  shell: optional(text('The AppMember that gives shells, such as a login node.', { maxLength: 253 })),
  notes: optional(list('Notes for people.', text('A note.', { maxLength: 1024 }), { maxItems: 16 })),
});

export const appInstanceKind = defineKind({
  group: appsGroup,
  kind: 'AppInstance',
  plural: 'appinstances',
  shortNames: ['ai'],
  categories: ['capstan'],
  scope: 'Namespaced',
  streams: ['proxy'],
  description: 'An app of the catalog that runs on allocations of the tenant.',
  versions: {
    v1alpha1: {
      spec: object('The wish.', {
        app: objectName('Name of the App.', { rules: [immutable] }),
        version: optional(text('A version of the App; its default one if absent.', { maxLength: 64 })),
        placement: anything('Where its members run, as the placement schema of the App says.'),
        parameters: optional(anything('Settings, as the parameters schema of the App says.')),
        stopped: withDefault(flag('Stops the services of all members and keeps their state.'), false),
        paused: withDefault(flag('Keeps the platform from changing anything. Health is still reported.'), false),
      }),
      status: object('The instance as it is.', {
        observedGeneration: optional(integer('Generation of the object that the status describes.', { minimum: 0 })),
        phase: optional(text('The phase in the words of the adapter, such as `server_bootstrapping`.', { maxLength: 128 })),
        state: optional(
          choice('State in one word. A running instance is usable.', ['pending', 'deploying', 'running', 'stopped', 'failed', 'removing']),
        ),
        health: optional(health),
        message: optional(text('Why it waits or is not healthy, in one sentence.', { maxLength: 4096 })),
        progress: optional(progress),
        version: optional(text('The version that is installed.', { maxLength: 64 })),
        revision: optional(text('Hash of the wish that was last fulfilled.', { maxLength: 64 })),
        stopped: optional(flag('Whether its services were stopped.')),
        operations: optional(integer('Operations that the platform has begun.', { minimum: 0 })),
        lastOperation: optional(lastOperation),
        lastErrors: optional(lastErrors),
        constraints: optional(constraints),
        allowedActions: optional(allowedActions),
        access: optional(access),
        members: optional(
          object('Counts of its members.', {
            total: integer('All.', { minimum: 0 }),
            healthy: integer('Those that are healthy.', { minimum: 0 }),
          }),
        ),
        residues: optional(residues),
        reported: optional(reportedPhase),
        certificatesExpireAt: optional(timestamp('When the first of its certificates expires.')),
        observedAt: optional(timestamp('When its health was last looked at.')),
        conditions: optional(conditions()),
      }),
      columns: [
        { name: 'App', type: 'string', path: '.spec.app' },
        { name: 'State', type: 'string', path: '.status.state' },
        { name: 'Health', type: 'string', path: '.status.health' },
        { name: 'Phase', type: 'string', path: '.status.phase' },
        { name: 'Message', type: 'string', path: '.status.message' },
      ],
    },
  },
});

export type AppInstance = ObjectOf<typeof appInstanceKind>;
export type AppInstanceStatus = NonNullable<AppInstance['status']>;
export type AppAccess = NonNullable<AppInstanceStatus['access']>;
