/** A page of a workspace, and a text that it shows as soon as it has its data. */
export interface PageUnderTest {
  readonly name: string;
  readonly path: string;
  readonly shows: string;
}

export const pages: readonly PageUnderTest[] = [
  { name: 'home', path: '', shows: 'Needs attention' },
  { name: 'units', path: '/units', shows: 'waits' },
  { name: 'new-unit', path: '/units/new', shows: 'Container image' },
  { name: 'unit', path: '/units/default/waits', shows: 'Conditions' },
  { name: 'unit-events', path: '/units/default/waits?tab=events', shows: 'Shortage' },
  { name: 'apps', path: '/apps', shows: 'No app is deployed here' },
  { name: 'catalog', path: '/catalog', shows: 'Slurm' },
  { name: 'new-app', path: '/catalog/slurm', shows: 'Show the plan' },
  { name: 'storage', path: '/storages', shows: 'No storages yet' },
  { name: 'allocations', path: '/allocations', shows: 'small' },
  { name: 'fleet', path: '/fleet', shows: 'Nodes' },
  { name: 'workspaces', path: '/tenancy?tab=workspaces', shows: 'root:main' },
  { name: 'members', path: '/tenancy?tab=members', shows: 'Roles in this workspace' },
  { name: 'quotas', path: '/tenancy?tab=quotas', shows: 'No workspace is limited' },
  { name: 'usage', path: '/tenancy?tab=usage', shows: 'GPU hours by day' },
  { name: 'audit', path: '/tenancy?tab=audit', shows: 'kubernetes-admin' },
  { name: 'api', path: '/api', shows: 'ConfigMap' },
  { name: 'new-object', path: '/api/new', shows: 'apiVersion' },
  { name: 'objects', path: '/api/core/v1/configmaps', shows: 'settings' },
  { name: 'object', path: '/api/core/v1/configmaps/default/settings', shows: 'apiVersion' },
];
