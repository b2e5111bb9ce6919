/** Kubernetes groups whose kinds all exist in every workspace. */
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
 * The Kubernetes kinds that every workspace needs to operate. Workloads, networks and machines are offered by providers, and a workspace has them
 * when it binds them or its type names them. The root workspace has all kinds.
 */
export function isTenantKind(group: string, resource: string): boolean {
  return group === '' ? coreKinds.has(resource) : wholeGroups.has(group);
}
