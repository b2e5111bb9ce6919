import { amount } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { flag, integer, map, object, optional, type ReadOf, withDefault } from '../definition/schema.ts';
import { fleetGroup, workspacePath } from './fields.ts';

const count = (what: string) => integer(what, { minimum: 0, maximum: 1_000_000 });

const limits = object(
  'The most that the workspace and everything below it may have at the same time. Amounts that are absent are not limited.',
  {
    allocations: optional(count('Number of allocations.')),
    gpus: optional(count('Number of GPUs and MIG instances of all models.')),
    models: optional(map('Number of GPUs by model, such as `H100: 8`.', count('Number of GPUs.'), { maxProperties: 64 })),
    gpuMemory: optional(amount('Memory of all GPUs together, such as `640Gi`.')),
    cpu: optional(amount('Cores, such as `64`.')),
    memory: optional(amount('Memory of nodes, such as `1Ti`.')),
    storage: optional(amount('Sizes of all storages together, such as `10Ti`.')),
    others: optional(
      map('Amounts of other products, by the names of their measures, such as `noteWords: 100k`.', amount('The most of it.'), {
        maxProperties: 64,
      }),
    ),
  },
  {
    rules: [
      {
        rule: 'has(self.allocations) || has(self.gpus) || has(self.models) || has(self.gpuMemory) || has(self.cpu) || has(self.memory) || has(self.storage) || has(self.others)',
        message: 'must limit something: allocations, gpus, models, gpuMemory, cpu, memory, storage or others',
      },
    ],
  },
);

export const fleetQuotaKind = defineKind({
  group: fleetGroup,
  kind: 'FleetQuota',
  plural: 'fleetquotas',
  shortNames: ['fquota'],
  categories: ['capstan'],
  scope: 'Cluster',
  description:
    'Limits how much of the fleet a workspace and everything below it may have. An allocation or storage that would exceed a limit waits until something is released or the limit is raised. ' +
    'Nothing is taken from anybody when a limit is lowered. If several quotas limit the same workspace, the smallest number counts.',
  versions: {
    v1alpha1: {
      spec: object(
        'Who is limited, and to how much.',
        {
          workspace: optional(workspacePath('Path of the workspace, such as `root:acme`, or `user:ann` for a home.')),
          homes: withDefault(flag('Limits every home that has no quota of its own, each for itself.'), false),
          limits,
        },
        {
          rules: [
            {
              rule: 'has(self.workspace) != self.homes',
              message: 'must be set unless homes is true, and only then',
              fieldPath: '.workspace',
            },
          ],
        },
      ),
      columns: [
        { name: 'Workspace', type: 'string', path: '.spec.workspace' },
        { name: 'Homes', type: 'boolean', path: '.spec.homes' },
        { name: 'GPUs', type: 'integer', path: '.spec.limits.gpus' },
        { name: 'Models', type: 'string', path: '.spec.limits.models' },
        { name: 'Storage', type: 'string', path: '.spec.limits.storage', priority: 1 },
        { name: 'Allocations', type: 'integer', path: '.spec.limits.allocations', priority: 1 },
      ],
    },
  },
});

export type FleetQuota = ObjectOf<typeof fleetQuotaKind>;
export type FleetQuotaSpec = FleetQuota['spec'];
export type FleetLimits = ReadOf<typeof limits>;
