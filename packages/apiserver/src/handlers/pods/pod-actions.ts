import { Findings, made } from '@capstan/kinds';
import { FieldPath, type Fields, fieldsOf, formatTime, itemsOf, type KubeObject, StatusError, status, textOf } from '@capstan/machinery';
import type { Backend } from '../../registry/objects.ts';
import type { Resource } from '../../registry/resource.ts';
import { update } from '../../registry/update.ts';
import type { VirtualSubresource } from '../subresources.ts';
import type { VirtualKind } from '../virtual.ts';
import { evict } from './eviction.ts';

const success: KubeObject = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
const podBinding = { group: '', resource: 'pods/binding' };

function checkBinding(binding: KubeObject): void {
  const found = new Findings();
  const target = fieldsOf(binding['target']);
  const kind = textOf(target['kind']);
  if (kind !== '' && kind !== 'Node') found.notSupported(FieldPath.of('target', 'kind'), kind, ['Node', '<empty>']);
  if (textOf(target['name']) === '') found.required(FieldPath.of('target', 'name'));
  // Reported as plain text with a server error, as in Kubernetes.
  const messages = found.errors.map(({ field, body }) => `${field}: ${body}`);
  if (messages.length > 0) throw new StatusError({ code: 500, message: status.aggregate(messages) });
}

const meant = [
  ['uid', 'UID'],
  ['resourceVersion', 'ResourceVersion'],
] as const;

/** A binding may have preconditions: the uid and version of its pod. */
function checkMeant(pod: KubeObject, binding: KubeObject): void {
  const { name = '', namespace = '' } = pod.metadata;
  for (const [field, title] of meant) {
    const [wanted, found] = [binding.metadata[field], pod.metadata[field]];
    if (!wanted || wanted === found) continue;
    const why = `Precondition failed: ${title} in precondition: ${wanted}, ${title} in object meta: ${found ?? ''}`;
    const key = `/registry/pods/${namespace}/${name}`;
    const error = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`;
    throw status.conflict({ group: '', resource: 'pods' }, name, error);
  }
}

function bound(pod: KubeObject, binding: KubeObject, now: Date): KubeObject {
  checkMeant(pod, binding);
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

/** A scheduler that binds a pod manages none of its fields. */
async function bind(backend: Backend, { object, context, target, dryRun }: Binding): Promise<KubeObject> {
  checkBinding(object);
  const change = (pod: KubeObject) => ({ object: bound(pod, object, context.now()), applied: true });
  await update(backend, context, { ...target, subresource: 'binding', manager: context.defaultManager, dryRun, change, admits: 'none' });
  return success;
}

type Binding = Omit<Parameters<VirtualSubresource>[0], 'parent'>;

/** The `bindings` resource: the same action at its own path, where the binding itself names the pod. */
export function bindings(backend: Backend, pods: Resource): VirtualKind {
  return (object, context, dryRun) => {
    const { name = '' } = object.metadata;
    if (name === '') throw status.badRequest('Name parameter required.');
    return bind(backend, { object, context, target: { resource: pods, namespace: context.info.namespace, name }, dryRun });
  };
}

/** Actions on a pod through creating a subresource: `binding` assigns it to a node, `eviction` deletes it if its budget allows. */
export function podActions(backend: Backend, budgets: Resource): readonly (readonly [path: string, action: VirtualSubresource])[] {
  return [
    ['/pods/binding', (call) => bind(backend, call)],
    [
      '/pods/eviction',
      async ({ object, parent, context, target, dryRun }) => {
        await evict(backend, budgets, { eviction: object, pod: parent, context, target, dryRun });
        return success;
      },
    ],
  ];
}
