/** A page of a workspace, and a text that it shows as soon as it has its data. */
export interface PageUnderTest {
  readonly name: string;
  /** `{node}` is the node of the platform. */
  readonly path: string;
  readonly shows: string;
  /** The text that it shows where there is nothing. */
  readonly empty?: string;
  /** Forms, which show nothing of the server at first. */
  readonly isForm?: boolean;
}

export const pages: readonly PageUnderTest[] = [
  { name: 'home', path: '', shows: 'Needs attention', empty: 'Nothing runs here yet' },
  { name: 'units', path: '/units', shows: 'waits', empty: 'Nothing runs here yet' },
  { name: 'new-unit', path: '/units/new', shows: 'Container image', isForm: true },
  { name: 'unit', path: '/units/default/waits', shows: 'Conditions', empty: 'There is no unit waits' },
  { name: 'unit-events', path: '/units/default/waits?tab=events', shows: 'Shortage', empty: 'There is no unit waits' },
  { name: 'apps', path: '/apps', shows: 'No app is deployed here', empty: 'No app is deployed here' },
  { name: 'catalog', path: '/catalog', shows: 'Slurm', empty: 'The catalog is empty' },
  { name: 'new-app', path: '/catalog/slurm', shows: 'Show the plan', empty: 'The catalog has no app slurm' },
  { name: 'storage', path: '/storages', shows: 'datasets', empty: 'No storages yet' },
  { name: 'storage-detail', path: '/storages/default/datasets', shows: 'Mounted by', empty: 'There is no storage datasets' },
  { name: 'allocations', path: '/allocations', shows: 'small', empty: 'Nothing is ordered' },
  { name: 'fleet', path: '/fleet', shows: 'Nodes', empty: 'The fleet has no machines' },
  { name: 'node', path: '/fleet/{node}', shows: 'Booked by', empty: 'There is no node' },
  { name: 'workspaces', path: '/tenancy?tab=workspaces', shows: 'root:main', empty: 'There are no workspaces below this one' },
  { name: 'members', path: '/tenancy?tab=members', shows: 'Roles in this workspace', empty: 'Nobody has a role here' },
  { name: 'quotas', path: '/tenancy?tab=quotas', shows: 'No workspace is limited', empty: 'No workspace is limited' },
  { name: 'usage', path: '/tenancy?tab=usage', shows: 'GPU hours by day' },
  { name: 'audit', path: '/tenancy?tab=audit', shows: 'configmaps default' },
  { name: 'api', path: '/api', shows: 'ConfigMap' },
  { name: 'new-object', path: '/api/new', shows: 'apiVersion', isForm: true },
  { name: 'objects', path: '/api/core/v1/configmaps', shows: 'settings' },
  { name: 'object', path: '/api/core/v1/configmaps/default/settings', shows: 'apiVersion' },
];
