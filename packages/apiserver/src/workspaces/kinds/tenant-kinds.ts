/** Groups of Kubernetes of which every workspace has all kinds. */
const wholeGroups = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'events.k8s.io',
  'rbac.authorization.k8s.io',
]);

const coreKinds = new Set(['configmaps', 'events', 'namespaces', 'resourcequotas', 'secrets', 'serviceaccounts']);

/**
 * The kinds of Kubernetes that a tenant's workspace has: those with which it is run. Workloads, networks and machines are for providers to offer: a workspace has them when it
 * binds them. The root workspace has all.
 */
export function isTenantKind(group: string, resource: string): boolean {
  return group === '' ? coreKinds.has(resource) : wholeGroups.has(group);
}
