import { conditions, immutable, labelKey, objectName } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { choice, integer, keyedList, list, object, optional, type ReadOf, text, withDefault } from '../definition/schema.ts';
import { sharedDirectory } from '../storages/shared-directory.ts';
import { computeGroup, strength } from './fields.ts';
import { resourcesFields } from './offering.ts';

export const allocationPhases = ['Pending', 'Active', 'Releasing', 'Failed'] as const;
export type AllocationPhase = (typeof allocationPhases)[number];

/** Keeps an allocation until everything that it had is in the hands of the platform. */
export const allocationFinalizer = 'compute.capstan.dev/bookings';

const part = object('Part of the allocation on one node.', {
  node: objectName('Name of the node.'),
  devices: list('UUIDs of the GPUs, or of their MIG instances.', text('UUID of a GPU or a MIG instance.', { maxLength: 128 }), {
    maxItems: 1024,
  }),
});

const topology = object('Nodes with the same value of a label.', {
  label: labelKey('Label of the nodes, such as the rack or the fabric.'),
  strength: strength('Whether other nodes may be used if there are too few with the same value.'),
});

export const allocationKind = defineKind({
  group: computeGroup,
  kind: 'Allocation',
  plural: 'allocations',
  categories: ['capstan'],
  scope: 'Namespaced',
  description: 'An order of an offering: nodes and GPUs that are reserved for it until it is deleted.',
  // The scheduler counts these amounts, because they depend on the nodes that the allocation gets.
  measures: [
    { name: 'allocations', description: 'the number of allocations', unit: 'count', words: ['allocation', 'allocations'] },
    { name: 'gpus', description: 'GPUs and MIG instances of all models', unit: 'count', words: ['GPU', 'GPUs'] },
    { name: 'models', description: 'GPUs of one model', unit: 'count', words: ['GPU', 'GPUs'], perValue: true },
    { name: 'gpuMemory', description: 'the memory of all GPUs together', unit: 'bytes', of: 'GPU memory' },
    { name: 'cpu', description: 'cores of nodes', unit: 'millicores' },
    { name: 'memory', description: 'memory of nodes', unit: 'bytes', of: 'memory' },
  ],
  versions: {
    v1alpha1: {
      spec: object(
        'The order.',
        {
          offering: optional(objectName('Name of the Offering.')),
          resources: optional(object('Resources on each node, instead of an offering.', resourcesFields)),
          nodes: withDefault(integer('Number of nodes that get the offering each: all of them or none.', { minimum: 1, maximum: 1024 }), 1),
          topology: optional(topology),
          node: optional(objectName('Only this node, such as the one that has a storage.')),
          directories: optional(
            keyedList('Only nodes with these shared directories, such as those that have storages.', sharedDirectory('One directory.'), {
              keys: ['name'],
              maxItems: 16,
            }),
          ),
          priority: withDefault(integer('Orders with a higher number are served first.', { minimum: -1000, maximum: 1000 }), 0),
        },
        {
          rules: [
            immutable,
            {
              rule: '!has(self.node) || self.nodes == 1',
              message: 'must be absent if there are several nodes',
              fieldPath: '.node',
            },
            {
              rule: 'has(self.offering) != has(self.resources)',
              message: 'must be set if resources is not, and only then',
              fieldPath: '.offering',
            },
          ],
        },
      ),
      status: object('State of the order.', {
        observedGeneration: optional(integer('Generation of the object that the status describes.', { minimum: 0 })),
        phase: optional(choice('State in one word.', allocationPhases)),
        message: optional(text('Why it waits or failed, in one sentence.', { maxLength: 4096 })),
        attempt: optional(text('The try whose bookings count. It is set once, together with `parts`.', { maxLength: 64 })),
        parts: optional(list('Nodes and devices that it has.', part, { maxItems: 1024 })),
        conditions: optional(conditions()),
      }),
      columns: [
        { name: 'Offering', type: 'string', path: '.spec.offering' },
        { name: 'Nodes', type: 'integer', path: '.spec.nodes' },
        { name: 'Phase', type: 'string', path: '.status.phase' },
        { name: 'Message', type: 'string', path: '.status.message' },
      ],
    },
  },
});

export type Allocation = ObjectOf<typeof allocationKind>;
export type AllocationSpec = Allocation['spec'];
export type AllocationStatus = NonNullable<Allocation['status']>;
export type AllocatedPart = ReadOf<typeof part>;
