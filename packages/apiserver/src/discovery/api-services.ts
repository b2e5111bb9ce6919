import type { KubeObject } from '@capstan/machinery';

/** Who manages an APIService: the server, once at startup or continuously; or users, if the label is missing. */
export const managedLabel = 'kube-aggregator.kubernetes.io/automanaged';

/** The order of groups; the highest comes first. */
const groupPriorities: ReadonlyMap<string, number> = new Map([
  ['', 18000],
  ['apps', 17800],
  ['events.k8s.io', 17750],
  ['authentication.k8s.io', 17700],
  ['authorization.k8s.io', 17600],
  ['autoscaling', 17500],
  ['batch', 17400],
  ['certificates.k8s.io', 17300],
  ['networking.k8s.io', 17200],
  ['policy', 17100],
  ['rbac.authorization.k8s.io', 17000],
  ['storage.k8s.io', 16800],
  ['apiextensions.k8s.io', 16700],
  ['admissionregistration.k8s.io', 16700],
  ['scheduling.k8s.io', 16600],
  ['coordination.k8s.io', 16500],
  ['node.k8s.io', 16300],
  ['discovery.k8s.io', 16200],
  ['resource.k8s.io', 16200],
  ['flowcontrol.apiserver.k8s.io', 16100],
  ['internal.apiserver.k8s.io', 16000],
  ['storagemigration.k8s.io', 15800],
]);

/** Priorities of versions that differ from the usual one for such a version. */
const versionPriorities: ReadonlyMap<string, number> = new Map([
  ['/v1', 1],
  ['events.k8s.io/v1beta1', 5],
  ['autoscaling/v2', 30],
  ['admissionregistration.k8s.io/v1beta1', 12],
  ['admissionregistration.k8s.io/v1alpha1', 9],
  ['coordination.k8s.io/v1beta1', 13],
  ['coordination.k8s.io/v1alpha2', 12],
  ['discovery.k8s.io/v1beta1', 12],
  ['flowcontrol.apiserver.k8s.io/v1', 21],
  ['flowcontrol.apiserver.k8s.io/v1beta3', 18],
  ['internal.apiserver.k8s.io/v1alpha1', 9],
  ['resource.k8s.io/v1', 21],
  ['resource.k8s.io/v1beta2', 15],
  ['storagemigration.k8s.io/v1alpha1', 9],
]);

const usualPriorities: ReadonlyMap<string, number> = new Map([
  ['v1', 15],
  ['v1beta1', 9],
]);

interface Service {
  readonly group: string;
  readonly version: string;
  readonly priorities: readonly [group: number, version: number];
  readonly managed: 'onstart' | 'true';
}

/** The APIService of a built-in group version; undefined for those that Kubernetes does not register. */
export function builtinService(group: string, version: string): KubeObject | undefined {
  const groupPriority = groupPriorities.get(group);
  if (groupPriority === undefined) return undefined;
  const versionPriority = versionPriorities.get(`${group}/${version}`) ?? usualPriorities.get(version) ?? 1;
  return localService({ group, version, priorities: [groupPriority, versionPriority], managed: 'onstart' });
}

/** The APIService of a group version that users defined. */
export const definedService = (group: string, version: string): KubeObject =>
  localService({ group, version, priorities: [1000, 100], managed: 'true' });

function localService({ group, version, priorities: [groupPriorityMinimum, versionPriority], managed }: Service): KubeObject {
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: `${version}.${group}`, labels: { [managedLabel]: managed } },
    spec: { ...(group !== '' && { group }), version, groupPriorityMinimum, versionPriority },
  };
}
