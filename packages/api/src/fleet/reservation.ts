import { timestamp } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { integer, keyedList, list, object, optional, type ReadOf, text } from '../definition/schema.ts';
import { fleetGroup, workspacePath } from './fields.ts';

const part = object(
  'A node, or a part of it.',
  {
    node: text('Name of the node.', { minLength: 1, maxLength: 58, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }),
    gpus: optional(
      integer('The first so many GPUs of the node. The whole node if this and `devices` are absent.', { minimum: 1, maximum: 1024 }),
    ),
    devices: optional(
      list('UUIDs of the GPUs, or of their MIG instances.', text('UUID.', { minLength: 1, maxLength: 128 }), {
        minItems: 1,
        maxItems: 1024,
      }),
    ),
  },
  { rules: [{ rule: '!(has(self.gpus) && has(self.devices))', message: 'must be absent if devices is set', fieldPath: '.gpus' }] },
);

export const nodeReservationKind = defineKind({
  group: fleetGroup,
  kind: 'NodeReservation',
  plural: 'nodereservations',
  categories: ['capstan'],
  scope: 'Cluster',
  description:
    'Keeps nodes, or GPUs of nodes, for a workspace and everything below it until a time. Allocations that are there stay; whatever becomes free is kept. GPUs come with their share of the ' +
    'cores and the memory of the node. The reservation is deleted when it has expired.',
  versions: {
    v1alpha1: {
      spec: object(
        'Who gets the nodes, and when.',
        {
          workspace: workspacePath('Path of the workspace, such as `root:acme`, or `user:ann` for a home.'),
          from: optional(timestamp('Time at which it begins. At once if absent.')),
          until: timestamp('Time at which it ends.'),
          nodes: keyedList('The nodes.', part, { keys: ['node'], minItems: 1, maxItems: 128 }),
          comment: optional(text('A note for people.', { maxLength: 1024 })),
        },
        {
          rules: [
            {
              rule: '!has(self.from) || timestamp(self.from) < timestamp(self.until)',
              message: 'must be later than from',
              fieldPath: '.until',
            },
          ],
        },
      ),
      columns: [
        { name: 'Workspace', type: 'string', path: '.spec.workspace' },
        { name: 'Nodes', type: 'string', path: '.spec.nodes[*].node' },
        { name: 'From', type: 'string', path: '.spec.from' },
        { name: 'Until', type: 'string', path: '.spec.until' },
      ],
    },
  },
});

export type NodeReservation = ObjectOf<typeof nodeReservationKind>;
export type NodeReservationSpec = NodeReservation['spec'];
export type ReservedPart = ReadOf<typeof part>;
