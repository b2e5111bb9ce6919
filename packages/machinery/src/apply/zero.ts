import type { Json } from '../json.ts';
import type { Field, ObjectType, Type } from '../schema/type.ts';

/**
 * Kubernetes takes a create as a change of the empty Go value of the kind, where structs that are no pointers are there from the start.
 * Nobody adds them, so nobody owns them: `f:spec` has no `.` for a Deployment, but has one for a custom resource. Besides `spec`, `status`
 * and `metadata` of every built-in kind these fields are such structs.
 */
const structs: ReadonlyMap<string, readonly string[]> = new Map([
  ['io.k8s.api.core.v1.Binding', ['target']],
  ['io.k8s.api.core.v1.Event', ['involvedObject', 'source']],
  ['io.k8s.api.core.v1.NodeStatus', ['daemonEndpoints', 'nodeInfo']],
  ['io.k8s.api.core.v1.NodeDaemonEndpoints', ['kubeletEndpoint']],
  ['io.k8s.api.core.v1.PersistentVolumeClaimSpec', ['resources']],
  ['io.k8s.api.core.v1.PodTemplate', ['template']],
  ['io.k8s.api.core.v1.ServiceStatus', ['loadBalancer']],
  ['io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec', ['names']],
  ['io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus', ['acceptedNames']],
  ['io.k8s.api.apps.v1.DaemonSetSpec', ['template', 'updateStrategy']],
  ['io.k8s.api.apps.v1.DeploymentSpec', ['strategy', 'template']],
  ['io.k8s.api.apps.v1.ReplicaSetSpec', ['template']],
  ['io.k8s.api.apps.v1.StatefulSetSpec', ['template', 'updateStrategy']],
  ['io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerSpec', ['scaleTargetRef']],
  ['io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec', ['scaleTargetRef']],
  ['io.k8s.api.batch.v1.CronJobSpec', ['jobTemplate']],
  ['io.k8s.api.batch.v1.JobSpec', ['template']],
  ['io.k8s.api.events.v1.Event', ['deprecatedSource', 'regarding']],
  ['io.k8s.api.flowcontrol.v1.FlowSchemaSpec', ['priorityLevelConfiguration']],
  ['io.k8s.api.networking.v1.IngressStatus', ['loadBalancer']],
  ['io.k8s.api.networking.v1.NetworkPolicySpec', ['podSelector']],
  ['io.k8s.api.rbac.v1.ClusterRoleBinding', ['roleRef']],
  ['io.k8s.api.rbac.v1.RoleBinding', ['roleRef']],
  ['io.k8s.api.resource.v1.ResourceClaimSpec', ['devices']],
  ['io.k8s.api.resource.v1.ResourceSliceSpec', ['pool']],
  ['io.k8s.api.storage.v1.VolumeAttachmentSpec', ['source']],
]);

const noStructs: readonly string[] = [];

export const isBuiltIn = (type: Type): boolean => type.kind === 'object' && type.name.startsWith('io.k8s.');

/** What stands in a field of the empty Go value: nothing, an empty struct, or a plain zero. */
export type Zero = 'absent' | 'struct' | { readonly value: Json };

const absent: Zero = 'absent';
const noList: Zero = { value: null };
const zeros: Readonly<Record<string, Zero>> = { bool: { value: false }, int32: { value: 0 }, int64: { value: 0 }, double: { value: 0 } };
const noText: Zero = { value: '' };

const known = new WeakMap<ObjectType, ReadonlyMap<string, Zero>>();

/** The fields of the empty Go value of a built-in type that are not absent. */
export function zeroFields(type: ObjectType): ReadonlyMap<string, Zero> {
  let fields = known.get(type);
  if (fields === undefined) {
    const listed = structs.get(type.name) ?? noStructs;
    fields = new Map(
      [...type.fields.values()].map((field): [string, Zero] => [field.name, zeroOf(field, listed)]).filter(([, zero]) => zero !== absent),
    );
    known.set(type, fields);
  }
  return fields;
}

function zeroOf(field: Field, listed: readonly string[]): Zero {
  const { name, type } = field;
  if (type.kind === 'object')
    return name === 'metadata' || name === 'spec' || name === 'status' || listed.includes(name) ? 'struct' : absent;
  if (!field.required) return absent;
  if (type.kind === 'list' || type.kind === 'map') return noList;
  return type.kind === 'scalar' ? (zeros[type.scalar] ?? (type.scalar === 'string' ? noText : absent)) : absent;
}
