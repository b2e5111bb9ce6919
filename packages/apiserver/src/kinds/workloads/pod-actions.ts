import {
  type DeleteOptions,
  FieldPath,
  formatTime,
  type KubeObject,
  type LabelSelectorObject,
  StatusError,
  selectorOfObject,
  status,
} from '@capstan/machinery';
import type { VirtualSubresource } from '../../handlers/subresources.ts';
import type { VirtualKind } from '../../handlers/virtual.ts';
import { deleteObject } from '../../registry/delete.ts';
import type { Backend } from '../../registry/objects.ts';
import type { Resource } from '../../registry/resource.ts';
import { update } from '../../registry/update.ts';
import { made } from './defaulting.ts';
import { Findings } from './findings.ts';
import { type Fields, fieldsOf, itemsOf, numberOf, textOf } from './reading.ts';

const success: KubeObject = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
const podBinding = { group: '', resource: 'pods/binding' };

function checkBinding(binding: KubeObject): void {
  const found = new Findings();
  const target = fieldsOf(binding['target']);
  const kind = textOf(target['kind']);
  if (kind !== '' && kind !== 'Node') found.notSupported(FieldPath.of('target', 'kind'), kind, ['Node', '<empty>']);
  if (textOf(target['name']) === '') found.required(FieldPath.of('target', 'name'));
  // Told without dressing, as a failure of the server.
  const messages = found.errors.map(({ field, body }) => `${field}: ${body}`);
  if (messages.length > 0) throw new StatusError({ code: 500, message: status.aggregate(messages) });
}

function bound(pod: KubeObject, binding: KubeObject, now: Date): KubeObject {
  const name = pod.metadata.name ?? '';
  const spec = made(pod, 'spec');
  const refuse = (why: string) => status.conflict(podBinding, name, why);
  if (pod.metadata.deletionTimestamp !== undefined) throw refuse(`pod ${name} is being deleted, cannot be assigned to a host`);
  const node = textOf(spec['nodeName']);
  if (node !== '') throw refuse(`pod ${name} is already assigned to node ${JSON.stringify(node)}`);
  if (itemsOf(spec['schedulingGates']).length > 0) throw refuse(`pod ${name} has non-empty .spec.schedulingGates`);
  spec['nodeName'] = fieldsOf(binding['target'])['name'];
  for (const field of ['annotations', 'labels'] as const) {
    if (binding.metadata[field] !== undefined) pod.metadata[field] = { ...pod.metadata[field], ...binding.metadata[field] };
  }
  const scheduled: Fields = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: formatTime(now) };
  const podStatus = fieldsOf(pod['status']);
  const others = itemsOf(podStatus['conditions']).filter((condition) => condition['type'] !== 'PodScheduled');
  pod['status'] = { ...podStatus, conditions: [...others, scheduled] };
  return pod;
}

const budgets = { group: 'policy', resource: 'poddisruptionbudgets' };

function budgetsOf(pod: KubeObject, all: readonly KubeObject[]): KubeObject[] {
  return all.filter((budget) =>
    selectorOfObject(fieldsOf(budget['spec'])['selector'] as LabelSelectorObject | undefined).matches(pod.metadata.labels),
  );
}

/** A pod that never ran or ended already is missed by nobody. */
function isMissed(pod: KubeObject): boolean {
  const phase = fieldsOf(pod['status'])['phase'];
  return phase !== 'Pending' && phase !== 'Succeeded' && phase !== 'Failed' && pod.metadata.deletionTimestamp === undefined;
}

function isReady(pod: KubeObject): boolean {
  return itemsOf(fieldsOf(pod['status'])['conditions']).some(
    (condition) => condition['type'] === 'Ready' && condition['status'] === 'True',
  );
}

/** Refuses when fewer of the pods that belong together would be left than their budget asks for. */
function checkBudget(pod: KubeObject, found: readonly KubeObject[]): void {
  if (found.length > 1) {
    throw status.internalError('This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.');
  }
  const [budget] = found;
  if (budget === undefined) return;
  const { currentHealthy, desiredHealthy, disruptionsAllowed } = fieldsOf(budget['status']);
  const enough = numberOf(desiredHealthy) > 0 && numberOf(currentHealthy) >= numberOf(desiredHealthy);
  if (!isReady(pod) && (enough || fieldsOf(budget['spec'])['unhealthyPodEvictionPolicy'] === 'AlwaysAllow')) return;
  if (numberOf(disruptionsAllowed) <= 0) {
    throw status.tooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10);
  }
}

/** A scheduler that binds a pod manages none of its fields. */
async function bind(backend: Backend, { object, context, target, dryRun }: Binding): Promise<KubeObject> {
  checkBinding(object);
  const change = (pod: KubeObject) => ({ object: bound(pod, object, context.now()), applied: true });
  await update(backend, context, { ...target, subresource: 'binding', manager: context.defaultManager, dryRun, change, admits: 'none' });
  return success;
}

type Binding = Omit<Parameters<VirtualSubresource>[0], 'parent'>;

/** `bindings`: the same under a path of its own, where the binding itself names the pod. */
export function bindings(backend: Backend, pods: Resource): VirtualKind {
  return (object, context, dryRun) => {
    const { name = '' } = object.metadata;
    if (name === '') throw status.badRequest('Name parameter required.');
    return bind(backend, { object, context, target: { resource: pods, namespace: context.info.namespace, name }, dryRun });
  };
}

/** What is done to a pod by creating something below it: `binding` gives it a node, `eviction` removes it where its budget allows. */
export function podActions(backend: Backend): readonly (readonly [path: string, action: VirtualSubresource])[] {
  return [
    ['/pods/binding', (call) => bind(backend, call)],
    [
      '/pods/eviction',
      async ({ object, parent, context, target, dryRun }) => {
        const pod = parent();
        if (isMissed(pod)) checkBudget(pod, budgetsOf(pod, context.objects.list(budgets, context.cluster, target.namespace)));
        await deleteObject(backend, context, {
          ...target,
          options: fieldsOf(object['deleteOptions']) as DeleteOptions,
          dryRun,
          isAdmitted: true,
        });
        return success;
      },
    ],
  ];
}
