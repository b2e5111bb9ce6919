/** A dialog of the example. */
export interface ExampleDialog {
  readonly path: string;
  readonly workspace?: string;
  /** The button that opens it. */
  readonly press: string;
  readonly title: string;
}

/** One of each form, and one of each kind of question. */
export const exampleDialogs: readonly ExampleDialog[] = [
  { path: '/allocations', press: 'Order GPUs', title: 'Order GPUs' },
  { path: '/allocations', press: 'New offering', title: 'New offering' },
  { path: '/storages', press: 'New storage', title: 'New storage' },
  { path: '/storages/default/datasets', press: 'Take a snapshot', title: 'Take a snapshot of datasets' },
  { path: '/storages/default/datasets', press: 'Resize', title: 'Resize datasets' },
  { path: '/storages/default/datasets', press: 'Delete', title: 'Delete datasets?' },
  { path: '/fleet', press: 'Add a machine', title: 'Add a machine to the fleet' },
  { path: '/fleet/gpu-04', press: 'Drain', title: 'Drain gpu-04?' },
  { path: '/apps/default/lab?tab=members', press: 'Repair', title: 'Repair' },
  { path: '/tenancy?tab=members', press: 'Add a member', title: 'Add a member' },
  { path: '/tenancy?tab=quotas', press: 'Limit a workspace', title: 'Limit a workspace' },
  { path: '/tenancy?tab=workspaces', workspace: 'root:main', press: 'New workspace', title: 'New workspace in root:main' },
];
