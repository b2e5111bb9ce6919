import { conditions, objectName, timestamp } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { anything, choice, flag, integer, object, optional, text } from '../definition/schema.ts';
import { appsGroup, health, lastErrors, lastOperation, word } from './fields.ts';
import { reportedHealth } from './reports.ts';

/** `draining`: it takes no new work. `removed`: nothing of it is left, or the residues of the instance say what is. */
export const memberStates = ['pending', 'joining', 'running', 'draining', 'stopped', 'failed', 'removing', 'removed'] as const;
export type MemberState = (typeof memberStates)[number];

export const appMemberKind = defineKind({
  group: appsGroup,
  kind: 'AppMember',
  plural: 'appmembers',
  categories: ['capstan'],
  scope: 'Namespaced',
  streams: ['exec'],
  description: 'A node that takes part in an instance. Only the platform writes it.',
  versions: {
    v1alpha1: {
      spec: object('The member.', {
        instance: objectName('Name of the AppInstance.'),
        component: word('Its role, one of the components of the App.'),
        allocation: objectName('Name of the Allocation that it runs on.'),
        node: objectName('Name of the node.'),
      }),
      status: object('The member as it is.', {
        observedGeneration: optional(integer('Generation of the object that the status describes.', { minimum: 0 })),
        state: optional(choice('State in one word.', [...memberStates])),
        joined: optional(flag('Whether an operation has completed that made it a part of the instance.')),
        repairable: optional(flag('Whether the operation `repair` may help.')),
        failedProbes: optional(
          integer('How many probes in a row found a failure that `repair` may help against, up to the number that begins one.', {
            minimum: 1,
          }),
        ),
        health: optional(health),
        message: optional(text('Why it waits or is not healthy.', { maxLength: 4096 })),
        address: optional(text('Its address in the network of the nodes.', { maxLength: 253 })),
        endpoint: optional(text('Where it serves, if it does.', { maxLength: 2048 })),
        detail: optional(anything('Findings of the adapter about it.')),
        lastOperation: optional(lastOperation),
        lastErrors: optional(lastErrors),
        reported: optional(reportedHealth),
        observedAt: optional(timestamp('When its health was last looked at.')),
        conditions: optional(conditions()),
      }),
      columns: [
        { name: 'Instance', type: 'string', path: '.spec.instance' },
        { name: 'Component', type: 'string', path: '.spec.component' },
        { name: 'Node', type: 'string', path: '.spec.node' },
        { name: 'State', type: 'string', path: '.status.state' },
        { name: 'Health', type: 'string', path: '.status.health' },
        { name: 'Message', type: 'string', path: '.status.message', priority: 1 },
      ],
    },
  },
});

export type AppMember = ObjectOf<typeof appMemberKind>;
export type AppMemberStatus = NonNullable<AppMember['status']>;
