import type { Field, ObjectType } from '@capstan/machinery';

/**
 * Protobuf numbers follow the order in which fields were added to a type, and nearly all fields are declared in that order. These
 * are not: each list names a field, or nothing for the start, followed by the fields declared after it.
 */
const moved: ReadonlyMap<string, readonly (readonly string[])[]> = new Map([
  [
    'admissionregistration.v1.MutatingWebhook',
    [
      ['failurePolicy', 'matchPolicy'],
      ['namespaceSelector', 'objectSelector'],
    ],
  ],
  [
    'admissionregistration.v1.ValidatingWebhook',
    [
      ['failurePolicy', 'matchPolicy'],
      ['namespaceSelector', 'objectSelector'],
    ],
  ],
  ['admissionregistration.v1.WebhookClientConfig', [['', 'url']]],
  ['apps.v1.DeploymentCondition', [['lastTransitionTime', 'reason', 'message']]],
  [
    'apps.v1.DeploymentStatus',
    [
      ['updatedReplicas', 'readyReplicas'],
      ['unavailableReplicas', 'terminatingReplicas'],
    ],
  ],
  ['apps.v1.ReplicaSetSpec', [['replicas', 'minReadySeconds']]],
  ['apps.v1.ReplicaSetStatus', [['terminatingReplicas', 'observedGeneration', 'conditions']]],
  ['autoscaling.v2.HPAScalingRules', [['', 'stabilizationWindowSeconds']]],
  ['autoscaling.v2.MetricSpec', [['containerResource', 'external']]],
  ['autoscaling.v2.MetricStatus', [['containerResource', 'external']]],
  ['batch.v1.CronJobSpec', [['schedule', 'timeZone']]],
  [
    'batch.v1.JobSpec',
    [['activeDeadlineSeconds', 'podFailurePolicy', 'successPolicy', 'backoffLimit', 'backoffLimitPerIndex', 'maxFailedIndexes']],
  ],
  [
    'batch.v1.JobStatus',
    [
      ['failed', 'terminating'],
      ['completedIndexes', 'failedIndexes'],
    ],
  ],
  ['certificates.v1.CertificateSigningRequestCondition', [['type', 'status']]],
  ['certificates.v1.CertificateSigningRequestSpec', [['request', 'signerName', 'expirationSeconds', 'usages']]],
  ['core.v1.ClusterTrustBundleProjection', [['optional', 'path']]],
  ['core.v1.ConfigMap', [['metadata', 'immutable']]],
  [
    'core.v1.Container',
    [
      ['ports', 'envFrom'],
      ['resources', 'resizePolicy', 'restartPolicy', 'restartPolicyRules'],
      ['volumeMounts', 'volumeDevices'],
      ['readinessProbe', 'startupProbe'],
      ['terminationMessagePath', 'terminationMessagePolicy'],
    ],
  ],
  ['core.v1.EndpointAddress', [['nodeName', 'targetRef']]],
  [
    'core.v1.EphemeralContainer',
    [
      ['ports', 'envFrom'],
      ['resources', 'resizePolicy', 'restartPolicy', 'restartPolicyRules'],
      ['volumeMounts', 'volumeDevices'],
      ['readinessProbe', 'startupProbe'],
      ['terminationMessagePath', 'terminationMessagePolicy'],
    ],
  ],
  ['core.v1.ISCSIPersistentVolumeSource', [['chapAuthSession', 'secretRef']]],
  ['core.v1.ISCSIVolumeSource', [['chapAuthSession', 'secretRef']]],
  [
    'core.v1.NodeSpec',
    [
      ['podCIDR', 'podCIDRs'],
      ['configSource', 'externalID'],
    ],
  ],
  ['core.v1.PersistentVolumeClaimSpec', [['accessModes', 'selector']]],
  ['core.v1.PodCondition', [['type', 'observedGeneration']]],
  [
    'core.v1.PodSecurityContext',
    [
      ['seLinuxOptions', 'windowsOptions'],
      ['runAsUser', 'runAsGroup'],
      ['supplementalGroups', 'supplementalGroupsPolicy'],
    ],
  ],
  [
    'core.v1.PodSpec',
    [
      ['volumes', 'initContainers'],
      ['containers', 'ephemeralContainers'],
      ['serviceAccount', 'automountServiceAccountToken'],
      ['hostIPC', 'shareProcessNamespace'],
    ],
  ],
  [
    'core.v1.PodStatus',
    [
      ['', 'observedGeneration'],
      ['reason', 'nominatedNodeName'],
      ['hostIP', 'hostIPs'],
      ['podIP', 'podIPs'],
      ['startTime', 'initContainerStatuses'],
    ],
  ],
  ['core.v1.ReplicationControllerSpec', [['replicas', 'minReadySeconds']]],
  ['core.v1.ReplicationControllerStatus', [['availableReplicas', 'observedGeneration']]],
  [
    'core.v1.Secret',
    [
      ['metadata', 'immutable'],
      ['stringData', 'type'],
    ],
  ],
  [
    'core.v1.SecurityContext',
    [
      ['seLinuxOptions', 'windowsOptions'],
      ['runAsUser', 'runAsGroup'],
    ],
  ],
  ['core.v1.ServicePort', [['protocol', 'appProtocol']]],
  [
    'core.v1.ServiceSpec',
    [
      ['clusterIP', 'clusterIPs'],
      ['ipFamilies', 'ipFamilyPolicy'],
    ],
  ],
  ['core.v1.VolumeMount', [['readOnly', 'recursiveReadOnly']]],
  ['discovery.v1.EndpointSlice', [['metadata', 'addressType']]],
  ['meta.v1.OwnerReference', [['', 'apiVersion']]],
  ['networking.v1.HTTPIngressPath', [['pathType', 'backend']]],
  ['networking.v1.IngressBackend', [['service', 'resource']]],
  ['networking.v1.IngressSpec', [['', 'ingressClassName']]],
  ['resource.v1.AllocatedDeviceStatus', [['device', 'shareID']]],
]);

const known = new WeakMap<ObjectType, ReadonlyMap<string, number>>();

/** The position of each field when Go encodes the type. */
export function fieldOrder(type: ObjectType): ReadonlyMap<string, number> {
  let order = known.get(type);
  if (order === undefined) known.set(type, (order = ordered(type)));
  return order;
}

function ordered(type: ObjectType): ReadonlyMap<string, number> {
  const fields = [...type.fields.values()].sort((a, b) => comparePlaces(placeOf(a), placeOf(b)));
  const names = fields.map(({ name }) => name);
  for (const [anchor, ...followers] of moved.get(type.name.split('.').slice(-3).join('.')) ?? []) {
    for (const name of followers) names.splice(names.indexOf(name), 1);
    names.splice(names.indexOf(anchor!) + 1, 0, ...followers);
  }
  return new Map(names.map((name, at) => [name, at]));
}

/** Kind and apiVersion have no number and come first. */
function placeOf({ name, proto }: Field): readonly number[] {
  if (proto === undefined) return [name === 'kind' ? -2 : -1];
  return [...(proto.inline ?? []), proto.number];
}

function comparePlaces(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
