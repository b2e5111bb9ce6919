import type { GroupResource, KubeObject } from '@capstan/machinery';
import { type Fields, fieldsOf, itemsOf, maybeFields } from '@capstan/machinery';

/**
 * Fields of disabled features: Kubernetes drops them before validating an object, unless the stored object already has them.
 * `*` stands for every item of a list or every value of a map.
 */
const containers = ['containers', 'initContainers', 'ephemeralContainers'] as const;
const podFields = [
  'hostnameOverride',
  'volumes.*.projected.sources.*.clusterTrustBundle',
  'volumes.*.projected.sources.*.podCertificate',
  ...containers.flatMap((list) => [
    `${list}.*.lifecycle.stopSignal`,
    `${list}.*.restartPolicyRules`,
    `${list}.*.env.*.valueFrom.fileKeyRef`,
  ]),
  'containers.*.restartPolicy',
];

const podSpecs: ReadonlyMap<string, string> = new Map([
  ['/pods', 'spec'],
  ['/podtemplates', 'template.spec'],
  ['/replicationcontrollers', 'spec.template.spec'],
  ['apps/deployments', 'spec.template.spec'],
  ['apps/replicasets', 'spec.template.spec'],
  ['apps/statefulsets', 'spec.template.spec'],
  ['apps/daemonsets', 'spec.template.spec'],
  ['batch/jobs', 'spec.template.spec'],
  ['batch/cronjobs', 'spec.jobTemplate.spec.template.spec'],
]);

const claimRequests = ['exactly.capacity', 'firstAvailable.*.capacity'].map((field) => `devices.requests.*.${field}`);
const otherFields: Readonly<Record<string, readonly string[]>> = {
  '/pods': [
    'status.extendedResourceClaimStatus',
    ...['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'].map(
      (list) => `status.${list}.*.allocatedResourcesStatus`,
    ),
  ],
  '/nodes': ['spec.configSource', 'status.config'],
  'apps/deployments': ['status.terminatingReplicas'],
  'apps/replicasets': ['status.terminatingReplicas'],
  'apps/statefulsets': ['spec.updateStrategy.rollingUpdate.maxUnavailable'],
  'autoscaling/horizontalpodautoscalers': ['spec.behavior.scaleUp.tolerance', 'spec.behavior.scaleDown.tolerance'],
  'discovery.k8s.io/endpointslices': ['endpoints.*.deprecatedTopology'],
  'storage.k8s.io/volumeattachments': ['status.attachError.errorCode', 'status.detachError.errorCode'],
  'storage.k8s.io/csidrivers': ['spec.nodeAllocatableUpdatePeriodSeconds'],
  'resource.k8s.io/deviceclasses': ['spec.extendedResourceName'],
  'resource.k8s.io/resourceclaims': [
    ...[...claimRequests, 'devices.constraints.*.distinctAttribute'].map((field) => `spec.${field}`),
    'status.allocation.allocationTimestamp',
    ...['bindingConditions', 'bindingFailureConditions', 'shareID', 'consumedCapacity'].map(
      (field) => `status.allocation.devices.results.*.${field}`,
    ),
    'status.devices.*.shareID',
  ],
  'resource.k8s.io/resourceclaimtemplates': [...claimRequests, 'devices.constraints.*.distinctAttribute'].map(
    (field) => `spec.spec.${field}`,
  ),
  'resource.k8s.io/resourceslices': [
    'sharedCounters',
    'perDeviceNodeSelection',
    ...[
      'taints',
      'consumesCounters',
      'nodeName',
      'nodeSelector',
      'allNodes',
      'bindingConditions',
      'bindingFailureConditions',
      'bindsToNode',
      'allowMultipleAllocations',
      'capacity.*.requestPolicy',
    ].map((field) => `devices.*.${field}`),
  ].map((field) => `spec.${field}`),
};

interface Unserved {
  readonly podSpec: readonly string[] | undefined;
  readonly paths: readonly (readonly string[])[];
}

const unserved: ReadonlyMap<string, Unserved> = new Map(
  [...new Set([...podSpecs.keys(), ...Object.keys(otherFields)])].map((key) => {
    const podSpec = podSpecs.get(key);
    const inPods = podSpec === undefined ? [] : podFields.map((field) => `${podSpec}.${field}`);
    return [key, { podSpec: podSpec?.split('.'), paths: [...inPods, ...(otherFields[key] ?? [])].map((path) => path.split('.')) }];
  }),
);

export function dropUnserved({ group, resource }: GroupResource, object: KubeObject, old: KubeObject | undefined): void {
  const rules = unserved.get(`${group}/${resource}`);
  if (rules === undefined) return;
  for (const path of rules.paths) if (has(object, path, 0) && !(old !== undefined && has(old, path, 0))) drop(object, path, 0);
  if (rules.podSpec !== undefined) dropImageVolumes(object, old, rules.podSpec);
}

function childrenOf(value: Fields, name: string): readonly unknown[] {
  if (name === '*') return Object.values(value);
  return value[name] === undefined ? [] : [value[name]];
}

function has(value: unknown, path: readonly string[], at: number): boolean {
  if (at === path.length) return value !== null;
  if (typeof value !== 'object' || value === null) return false;
  return childrenOf(value as Fields, path[at]!).some((child) => has(child, path, at + 1));
}

function drop(value: unknown, path: readonly string[], at: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (at === path.length - 1) delete (value as Fields)[path[at]!];
  else for (const child of childrenOf(value as Fields, path[at]!)) drop(child, path, at + 1);
}

/** An image volume is dropped as a whole, together with its mounts. */
function dropImageVolumes(object: KubeObject, old: KubeObject | undefined, podSpec: readonly string[]): void {
  const spec = at(object, podSpec);
  if (spec === undefined || !hasImages(spec) || (old !== undefined && hasImages(fieldsOf(at(old, podSpec))))) return;
  const gone = new Set<unknown>();
  spec['volumes'] = itemsOf(spec['volumes']).filter(({ image, name }) => {
    if (image !== undefined) gone.add(name);
    return image === undefined;
  });
  for (const list of containers) {
    for (const container of itemsOf(spec[list])) {
      if (container['volumeMounts'] !== undefined)
        container['volumeMounts'] = itemsOf(container['volumeMounts']).filter(({ name }) => !gone.has(name));
    }
  }
}

function hasImages(spec: Readonly<Fields>): boolean {
  return itemsOf(spec['volumes']).some(({ image }) => image !== undefined);
}

function at(object: KubeObject, path: readonly string[]): Fields | undefined {
  let part: Fields | undefined = object;
  for (const name of path) part = maybeFields(part?.[name]);
  return part;
}
