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
  { path: '/storages/default/datasets', press: 'Clone', title: 'Clone datasets' },
  { path: '/allocations', press: 'Delete h100-1', title: 'Delete the offering h100-1?' },
  { path: '/apps/default/lab', press: 'Stop', title: 'Stop lab?' },
  { path: '/apps/default/lab', press: 'Delete', title: 'Delete lab?' },
  { path: '/apps/default/lab?tab=members', press: 'Drain', title: 'Drain' },
  { path: '/apps/default/serving', press: 'Restore a snapshot', title: 'Restore a snapshot' },
  { path: '/tenancy?tab=members', press: 'Change', title: 'Change the role of ann@example.com' },
  { path: '/tenancy?tab=members', press: 'Remove', title: 'Remove ann@example.com?' },
  { path: '/tenancy?tab=members', press: 'Add a member', title: 'Add a member' },
  { path: '/tenancy?tab=quotas', press: 'Limit a workspace', title: 'Limit a workspace' },
  { path: '/tenancy?tab=quotas', press: 'Change', title: 'Change the limits of root:main' },
  { path: '/tenancy?tab=workspaces', workspace: 'root:main', press: 'New workspace', title: 'New workspace in root:main' },
];
