import { amount } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { choice, flag, integer, list, map, object, optional, text, withDefault } from '../definition/schema.ts';
import { computeGroup, strength } from './fields.ts';

const gpu = object('The GPUs on each node.', {
  model: optional(text('Model, such as `H100`. Any if absent.', { minLength: 1, maxLength: 64 })),
  count: optional(integer('Number of GPUs; with `exclusive`, the least number.', { minimum: 0, maximum: 1024 })),
  memory: optional(amount('The least memory of each GPU, such as `80Gi`.')),
  migProfile: optional(text('Instances with this profile, such as `1g.10gb`, instead of whole GPUs.', { minLength: 1, maxLength: 32 })),
  nvlink: optional(strength('Whether the GPUs of a node have to be connected by NVLink.')),
});

/** Resources that a unit can ask for without an offering. */
export const resourcesFields = {
  gpu: optional(gpu),
  cpu: optional(amount('Cores, such as `8` or `500m`. If absent, each GPU comes with its share of the cores of the node.')),
  memory: optional(amount('Memory, such as `64Gi`. If absent, each GPU comes with its share of the memory of the node.')),
};

const stock = object(
  'Warm units: parts of nodes that are booked and prepared before anybody orders them. Only the owner of the platform sets it.',
  {
    units: integer('How many are kept ready. Orders that wait for devices come first.', { minimum: 0, maximum: 1024 }),
    image: optional(
      text('Image that is pulled in advance. Only units with the same image, or without any, use them.', { minLength: 1, maxLength: 1024 }),
    ),
  },
);

const labelValue = text('Value of the label.', { maxLength: 63 });

export const offeringKind = defineKind({
  group: computeGroup,
  kind: 'Offering',
  plural: 'offerings',
  categories: ['capstan'],
  scope: 'Cluster',
  description: 'Something that tenants can order: GPUs of a model with cpu and memory, a fraction of a node, or a whole node.',
  versions: {
    v1alpha1: {
      spec: object(
        'The part of each node that an allocation of the offering gets.',
        {
          displayName: optional(text('Name for people.', { maxLength: 128 })),
          ...resourcesFields,
          fraction: optional(
            integer('One of so many equal parts of a node: of its GPUs, its cores and its memory.', { minimum: 1, maximum: 64 }),
          ),
          exclusive: withDefault(flag('A whole node, and nobody else on it.'), false),
          pools: optional(
            list('Pools of nodes that may be used. All if absent.', text('Name of a pool.', { maxLength: 63 }), { maxItems: 64 }),
          ),
          nodeSelector: optional(map('Labels that nodes must have.', labelValue, { maxProperties: 32 })),
          strategy: withDefault(
            choice('`Pack` fills nodes that are in use already; `Spread` takes those with the most free GPUs.', ['Pack', 'Spread']),
            'Pack',
          ),
          stock: optional(stock),
        },
        {
          rules: [
            {
              rule: '!has(self.fraction) || !(self.exclusive || has(self.cpu) || has(self.memory) || (has(self.gpu) && has(self.gpu.count)))',
              message: 'must be absent if exclusive, cpu, memory or gpu.count is set',
              fieldPath: '.fraction',
            },
            {
              rule: '!self.exclusive || !(has(self.cpu) || has(self.memory))',
              message: 'must be false if cpu or memory is set',
              fieldPath: '.exclusive',
            },
            {
              rule: 'self.exclusive || has(self.fraction) || has(self.cpu) || has(self.memory) || (has(self.gpu) && has(self.gpu.count))',
              message: 'must say what is offered: gpu.count, cpu, memory, fraction or exclusive',
            },
          ],
        },
      ),
      columns: [
        { name: 'Model', type: 'string', path: '.spec.gpu.model' },
        { name: 'GPUs', type: 'integer', path: '.spec.gpu.count' },
        { name: 'CPU', type: 'string', path: '.spec.cpu' },
        { name: 'Memory', type: 'string', path: '.spec.memory' },
      ],
    },
  },
});

export type Offering = ObjectOf<typeof offeringKind>;
export type OfferingSpec = Offering['spec'];
