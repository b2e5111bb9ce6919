/** A page of the example, and a text that it shows as soon as it has its data. */
export interface ExamplePage {
  readonly name: string;
  readonly path: string;
  /** The project of the other pages if absent. */
  readonly workspace?: string;
  readonly shows: string;
}

export const examplePages: readonly ExamplePage[] = [
  { name: 'home', path: '', shows: 'llama-finetune' },
  { name: 'units', path: '/units', shows: 'llama-finetune' },
  { name: 'unit', path: '/units/default/notebook', shows: 'Ports' },
  { name: 'unit-failed', path: '/units/default/eval-suite', shows: 'needed more memory' },
  { name: 'unit-logs', path: '/units/default/llama-finetune?tab=logs', shows: 'tokens/s' },
  { name: 'unit-metrics', path: '/units/default/notebook?tab=metrics', shows: 'GPU utilisation' },
  { name: 'apps', path: '/apps', shows: 'inference' },
  { name: 'app', path: '/apps/default/lab', shows: 'Last operation' },
  { name: 'app-members', path: '/apps/default/lab?tab=members', shows: 'lab-gpu-10' },
  { name: 'app-operations', path: '/apps/default/lab?tab=operations', shows: 'gpu-10 should have 8 GPUs and has 7' },
  { name: 'app-logs', path: '/apps/default/lab?tab=logs', shows: 'GPU is lost' },
  { name: 'app-access', path: '/apps/default/lab?tab=access', shows: '10.20.0.18:6817' },
  { name: 'app-events', path: '/apps/default/lab?tab=events', shows: 'No events' },
  { name: 'app-stuck', path: '/apps/default/retired', shows: 'Delete without removing the rest' },
  { name: 'storage', path: '/storages', shows: 'checkpoints' },
  { name: 'storage-detail', path: '/storages/default/datasets', shows: 'Snapshots' },
  { name: 'allocations', path: '/allocations', shows: 'llama-finetune-7c2d1' },
  { name: 'fleet', path: '/fleet', shows: 'gpu-07' },
  { name: 'node', path: '/fleet/gpu-04', shows: 'Booked by' },
  { name: 'node-failed', path: '/fleet/gpu-10', shows: 'has fallen off the bus' },
  { name: 'workspaces', path: '/tenancy?tab=workspaces', workspace: 'root:main', shows: 'vision' },
  { name: 'members', path: '/tenancy?tab=members', shows: 'research' },
  { name: 'quotas', path: '/tenancy?tab=quotas', shows: 'root:main:vision' },
  { name: 'usage', path: '/tenancy?tab=usage', shows: 'whole-node' },
  { name: 'audit', path: '/tenancy?tab=audit', shows: 'lab-repair-2' },
];
