import { timestamp } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { choice, integer, list, object, optional, type ReadOf, text } from '../definition/schema.ts';
import { computeGroup } from './fields.ts';

/** The amounts that quotas limit. */
export const quotaResources = ['allocations', 'model', 'gpus', 'gpuMemory', 'cpu', 'memory', 'storage', 'other'] as const;
export type QuotaResource = (typeof quotaResources)[number];

const limit = object('A limit that holds for the workspace.', {
  workspace: text('Path of the workspace whose limit it is: this one, or one above it.', { maxLength: 1024 }),
  resource: choice('The amount that is limited.', quotaResources),
  model: optional(text('Model of the GPUs, if the resource is `model`.', { maxLength: 64 })),
  measure: optional(text('Name of the measure, if the resource is `other`.', { maxLength: 63 })),
  limit: integer('The limit: a number, bytes, or thousandths of a core.', { minimum: 0 }),
  used: integer('The amount in use in that workspace and everything below it, with orders that wait for devices.', { minimum: 0 }),
});

export const computeUsageKind = defineKind({
  group: computeGroup,
  kind: 'ComputeUsage',
  plural: 'computeusages',
  categories: ['capstan'],
  scope: 'Cluster',
  description:
    'The limits that hold for allocations of this workspace, and how much of them is used. The platform writes one object, `current`, in every workspace with allocations that is limited.',
  versions: {
    v1alpha1: {
      status: object('Limits and use.', {
        limits: optional(list('The limits, those of this workspace first.', limit, { maxItems: 1024 })),
        updatedAt: optional(timestamp('Time at which something last changed.')),
      }),
      columns: [{ name: 'Updated', type: 'date', path: '.status.updatedAt' }],
    },
  },
});

/** The name of the only object in a workspace. */
export const computeUsageName = 'current';

export type ComputeUsage = ObjectOf<typeof computeUsageKind>;
export type UsedLimit = ReadOf<typeof limit>;
