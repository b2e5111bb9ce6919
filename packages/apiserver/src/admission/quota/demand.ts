import {
  type Amounts,
  type GroupResource,
  isTerminatingPod,
  type KubeObject,
  type Measure,
  measureOf,
  onlyAmounts,
  printSource,
  type Quantity,
  subtractQuantities,
} from '@capstan/machinery';
import type { AdmissionRequest } from '../../registry/admission.ts';
import type { Limit } from './limit.ts';

/** The resources that a change needs from quotas. */
export interface Demand {
  readonly request: AdmissionRequest;
  readonly measure: Measure;
  readonly source: string;
  readonly object: KubeObject;
  readonly usage: Amounts;
  /** The increase over the old object; undefined for creates. */
  readonly added: Amounts | undefined;
}

/** Kinds whose updates count, not only creates, with the subresources that can increase their usage. */
const changing = new Map<string, ReadonlySet<string>>([
  ['services', new Set([''])],
  ['persistentvolumeclaims', new Set(['', 'status'])],
  ['resourceclaims.resource.k8s.io', new Set([''])],
]);

/** Whether a request can use quota at all. Most cannot, so this check must be cheap. */
export function canDemand({ operation, resource, subresource, object, old }: AdmissionRequest): boolean {
  if (resource.virtual || object === undefined || isEvent(resource)) return false;
  if (operation === 'CREATE') return subresource === '';
  if (operation !== 'UPDATE' || old === undefined) return false;
  if (resource.group === '' && resource.resource === 'pods') {
    // Only a resize changes the requests of a pod; any other update can at most move it from one quota to another.
    return subresource === 'resize' || (subresource === '' && isTerminatingPod(object) !== isTerminatingPod(old));
  }
  return changing.get(printSource(resource))?.has(subresource) === true;
}

function isEvent({ group, resource }: GroupResource): boolean {
  return resource === 'events' && (group === '' || group === 'events.k8s.io');
}

export function demandOf(request: AdmissionRequest): Demand {
  const { resource, context } = request;
  const object = request.object!;
  const measure = measureOf(resource);
  const now = context.now();
  const usage = measure.usage(object, now);
  const added = request.old === undefined ? undefined : excess(usage, measure.usage(request.old, now));
  return { request, measure, source: printSource(resource), object, usage, added };
}

/** The part of the demand that counts against one quota; undefined if the quota does not apply to the object. */
export function shareOf(demand: Demand, limit: Limit): Amounts | undefined {
  const { request, measure, usage, added } = demand;
  if (!concerns(limit, demand)) return undefined;
  const wasIn = added !== undefined && limit.scopes.every((scope) => measure.isInScope(scope, request.old!));
  return onlyAmounts(wasIn ? added : usage, (name, amount) => amount.value !== 0n && limit.hard.has(name));
}

/** Whether the quota limits a resource that the object uses. */
export function concerns(limit: Limit, { source, measure, object }: Pick<Demand, 'source' | 'measure' | 'object'>): boolean {
  return limit.namesFor(source).size > 0 && limit.scopes.every((scope) => measure.isInScope(scope, object));
}

function excess(usage: Amounts, before: Amounts): Amounts {
  const added = new Map<string, Quantity>();
  for (const [name, amount] of usage) {
    const old = before.get(name);
    const more = old === undefined ? amount : subtractQuantities(amount, old);
    if (more.value > 0n) added.set(name, more);
  }
  return added;
}
