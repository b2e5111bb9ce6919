import { conditions, duration, immutable, labelName, objectName, timestamp } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { choice, flag, integer, keyedList, object, optional, type ReadOf, text, withDefault } from '../definition/schema.ts';
import { nodeUnitPhases } from '../fleet/node-unit.ts';
import { outcomeFields } from '../units/outcome.ts';
import { hasProgram, namedPorts, programFields } from '../units/program.ts';
import { computeGroup } from './fields.ts';
import { resourcesFields } from './offering.ts';

/** `Unknown`: its node is silent; nothing is started elsewhere. `Stopped`, `Succeeded` and `Failed` units have no allocation. */
export const unitPhases = ['Pending', 'Starting', 'Running', 'Stopping', 'Stopped', 'Succeeded', 'Failed', 'Unknown'] as const;
export type UnitPhase = (typeof unitPhases)[number];

/** The label of a Pod that shows a unit; the value is the name of the unit. Only Capstan writes Pods with it. */
export const unitLabel = `${computeGroup}/unit`;
/** The start that a Pod shows. Its spec cannot change, so another start has another Pod. */
export const unitRunAnnotation = `${computeGroup}/run`;
/** The nodes of the start by rank, separated by commas, if there are several. The Pod is on the first one. */
export const unitNodesAnnotation = `${computeGroup}/nodes`;

const member = object('The unit on one node.', {
  rank: integer('Rank among the nodes of the unit.', { minimum: 0 }),
  node: objectName('Name of the node.'),
  phase: choice('How far it is there.', [...nodeUnitPhases]),
  step: optional(text('The current step, such as the progress of a pull.', { maxLength: 256 })),
  ...outcomeFields,
});

export const gpuUnitKind = defineKind({
  group: computeGroup,
  kind: 'GPUUnit',
  plural: 'gpuunits',
  shortNames: ['unit', 'units'],
  categories: ['capstan'],
  scope: 'Namespaced',
  description:
    'A program that runs on GPUs, or on a part of a node without any: a command or a container image, with an allocation that lasts as long as it runs. It is also ' +
    'visible as a Pod of the same name.',
  versions: {
    v1alpha1: {
      spec: object(
        'The program and the resources that it needs.',
        {
          offering: optional(objectName('Name of the Offering.', { rules: [immutable] })),
          resources: optional(object('Resources on each node, instead of an offering.', resourcesFields, { rules: [immutable] })),
          nodes: withDefault(
            integer('Number of nodes. The program runs on each of them, with its rank and the address of the first in its environment.', {
              minimum: 1,
              maximum: 1024,
              rules: [immutable],
            }),
            1,
          ),
          priority: withDefault(integer('Units with a higher number are placed first.', { minimum: -1000, maximum: 1000 }), 0),
          ...programFields,
          imagePullSecret: optional(objectName('Secret of the type kubernetes.io/dockerconfigjson with which the image is pulled.')),
          access: optional(
            object('The port that people open.', {
              port: labelName('Name of one of the ports.'),
              scheme: withDefault(choice('Protocol.', ['http', 'https', 'tcp']), 'http'),
            }),
          ),
          upload: withDefault(flag('Whether the program waits for files, as with `capstan run`.'), false),
          running: withDefault(flag('False stops the unit and releases its allocation; storages stay. True starts it again.'), true),
          maxDuration: optional(duration('Stops the unit after so much time.')),
          idleTimeout: optional(
            duration(
              'Stops the unit when its GPUs, or its processor without any, were idle for so long. Nodes look every 15 seconds. If it becomes shorter than five minutes ' +
                'while the program runs, idleness counts from five minutes on until the next start.',
            ),
          ),
          onNodeLoss: withDefault(
            choice(
              '`Wait`: until the node is back, or the owner of the platform declares it lost. `Fence`: the node ends the unit itself after `fenceAfter` without the ' +
                'control plane, and it is started elsewhere after that.',
              ['Wait', 'Fence'],
            ),
            'Wait',
          ),
          fenceAfter: withDefault(duration('See `onNodeLoss`.'), '5m'),
        },
        {
          rules: [
            hasProgram,
            ...namedPorts,
            {
              rule: "self.network != 'Host' || has(self.offering)",
              message: 'must not be Host without an offering of whole nodes',
              fieldPath: '.network',
            },
            {
              rule: 'has(self.offering) != has(self.resources)',
              message: 'must be set if resources is not, and only then',
              fieldPath: '.offering',
            },
            {
              rule: '!has(self.access) || (has(self.ports) && self.ports.exists(p, p.name == self.access.port))',
              message: 'must be the name of one of the ports',
              fieldPath: '.access.port',
            },
          ],
        },
      ),
      status: object('State of the unit.', {
        observedGeneration: optional(integer('Generation that the status describes.', { minimum: 0 })),
        phase: optional(choice('State in one word.', [...unitPhases])),
        message: optional(text('Why it waits, or how it ended, in one sentence.', { maxLength: 4096 })),
        run: optional(integer('Counts the starts.', { minimum: 0 })),
        program: optional(
          text('Hash of the program that the current start was made of. Another program leads to another start.', { maxLength: 64 }),
        ),
        allocation: optional(objectName('Name of its Allocation.')),
        members: optional(keyedList('The unit on its nodes.', member, { keys: ['rank'], maxItems: 1024 })),
        startedAt: optional(timestamp('Time at which it last started to run.')),
        finishedAt: optional(timestamp('Time at which it ended.')),
        exitCode: optional(integer('Exit code of the program; of the first that failed, if there are several nodes.')),
        restarts: optional(integer('How often programs were started again.', { minimum: 0 })),
        access: optional(text('How to open its port.', { maxLength: 1024 })),
        conditions: optional(conditions()),
      }),
      columns: [
        { name: 'Offering', type: 'string', path: '.spec.offering' },
        { name: 'Phase', type: 'string', path: '.status.phase' },
        { name: 'Node', type: 'string', path: '.status.members[0].node' },
        { name: 'Restarts', type: 'integer', path: '.status.restarts' },
        { name: 'Exit', type: 'integer', path: '.status.exitCode', priority: 1 },
        { name: 'Message', type: 'string', path: '.status.message', priority: 1 },
        { name: 'Age', type: 'date', path: '.metadata.creationTimestamp' },
      ],
    },
  },
});

export type GPUUnit = ObjectOf<typeof gpuUnitKind>;
export type GPUUnitSpec = GPUUnit['spec'];
export type GPUUnitStatus = NonNullable<GPUUnit['status']>;
export type UnitMember = ReadOf<typeof member>;
