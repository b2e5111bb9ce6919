import { made } from '@capstan/kinds';
import { type Fields, fieldsOf, itemsOf, type KubeObject, status, textOf } from '@capstan/machinery';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import { forbidden } from '../forbidden.ts';
import { claimExcesses, limitsOf, podExcesses } from './limit-constraints.ts';

const limitRanges = { group: '', resource: 'limitranges' };
const annotation = 'kubernetes.io/limit-ranger';

/** Applies the LimitRanges of a namespace: default requests and limits, and constraints on pods and claims. */
export const limitRanger: AdmissionPlugin = {
  name: 'LimitRanger',
  mutate(request) {
    if (request.operation !== 'CREATE' || !concerns(request, 'pods')) return;
    for (const limitRange of rangesOf(request)) setDefaults(request.object!, limitRange);
  },
  validate(request) {
    const isPod = request.operation === 'CREATE' && concerns(request, 'pods');
    if (!isPod && !concerns(request, 'persistentvolumeclaims')) return;
    if (request.old?.metadata.deletionTimestamp !== undefined) return;
    const excesses = isPod ? podExcesses : claimExcesses;
    for (const limitRange of rangesOf(request)) {
      const found = limitsOf(limitRange).flatMap((limit) => excesses(limit, request.object!));
      if (found.length > 0) throw forbidden(request, status.aggregate(found));
    }
  },
};

function concerns({ resource, subresource, object }: AdmissionRequest, name: string): boolean {
  return resource.group === '' && resource.resource === name && subresource === '' && object !== undefined;
}

function rangesOf({ context, namespace }: AdmissionRequest): readonly KubeObject[] {
  return context.objects.list(limitRanges, context.cluster, namespace);
}

function setDefaults(pod: KubeObject, limitRange: KubeObject): void {
  const requests: Fields = {};
  const limits: Fields = {};
  for (const limit of limitsOf(limitRange)) {
    if (limit['type'] !== 'Container') continue;
    Object.assign(requests, fieldsOf(limit['defaultRequest']));
    Object.assign(limits, fieldsOf(limit['default']));
  }
  const spec = fieldsOf(pod['spec']);
  const done = [
    ...itemsOf(spec['containers']).flatMap((container) => fill(container, 'container', { requests, limits })),
    ...itemsOf(spec['initContainers']).flatMap((container) => fill(container, 'init container', { requests, limits })),
  ];
  if (done.length > 0) (pod.metadata.annotations ??= {})[annotation] = `LimitRanger plugin set: ${done.join('; ')}`;
}

/** Returns a description of the values that it set. */
function fill(container: Fields, kind: string, { requests, limits }: { requests: Fields; limits: Fields }): string[] {
  const setLimits = fillList(container, 'limits', limits);
  const setRequests = fillList(container, 'requests', requests);
  const name = `${kind} ${textOf(container['name'])}`;
  return [
    ...(setRequests.length > 0 ? [`${setRequests.join(', ')} request for ${name}`] : []),
    ...(setLimits.length > 0 ? [`${setLimits.join(', ')} limit for ${name}`] : []),
  ];
}

function fillList(container: Fields, list: 'requests' | 'limits', defaults: Fields): string[] {
  const given = fieldsOf(fieldsOf(container['resources'])[list]);
  const missing = Object.keys(defaults)
    .filter((name) => !Object.hasOwn(given, name))
    .sort();
  if (missing.length > 0) {
    const amounts = made(made(container, 'resources'), list);
    for (const name of missing) amounts[name] = defaults[name];
  }
  return missing;
}
