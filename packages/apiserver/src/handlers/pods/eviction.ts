import {
  type DeleteOptions,
  FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  formatTime,
  invalidOptions,
  itemsOf,
  type KubeObject,
  type LabelSelectorObject,
  numberOf,
  StatusError,
  sameJson,
  selectorOfObject,
  status,
  textOf,
  textsOf,
  validateDeleteOptions,
} from '@capstan/machinery';
import type { RequestContext } from '../../registry/context.ts';
import { checkPreconditions, deleteObject } from '../../registry/delete.ts';
import type { Backend, Target } from '../../registry/objects.ts';
import type { Resource } from '../../registry/resource.ts';
import { update } from '../../registry/update.ts';

export interface Eviction {
  readonly eviction: KubeObject;
  /** Reads the pod. Throws if it does not exist. */
  readonly pod: () => KubeObject;
  readonly context: RequestContext;
  readonly target: Target;
  /** The `dryRun` of the request itself. */
  readonly dryRun: boolean;
}

/**
 * Why a pod may be evicted: nobody misses it, it has no budget, its budget has been charged, or it is unready and enough others
 * are healthy.
 */
type Permission = 'unmissed' | 'unguarded' | 'charged' | 'unready';

/** The pod has changed since its eviction was permitted. */
class PodChanged extends Error {}

const maxTries = 5;
/** The maximum number of evictions that the budget's controller has not confirmed. */
const maxUnconfirmed = 2000;

/** Deletes a pod if its disruption budget allows it, and charges the budget immediately, so that the next eviction sees what is left. */
export async function evict(backend: Backend, budgets: Resource, request: Eviction): Promise<void> {
  checkDryRuns(request);
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryEvict(backend, budgets, request);
    } catch (error) {
      if (!(error instanceof PodChanged)) throw error;
      if (attempt === maxTries) throw status.conflict(request.target.resource, request.target.name, status.staleObject);
    }
  }
}

const all = ['All'];
const unsafe = 'ignoreStoreReadErrorWithClusterBreakingPotential';

/** A dry run can be requested in two places, which must agree if both are set. */
function checkDryRuns({ eviction, dryRun, target }: Eviction): void {
  const options = fieldsOf(eviction['deleteOptions']);
  if (options[unsafe] === true) {
    const why = 'can not be set for pod eviction, try after removing the option';
    const error = fieldError.invalid(FieldPath.of('deleteOptions', unsafe), true, why);
    throw status.invalidObject({ group: 'policy', kind: 'Eviction' }, target.name, [error]);
  }
  const inside = textsOf(options['dryRun']);
  if (dryRun && inside.length > 0 && !sameJson(inside, all))
    throw new StatusError({
      code: 500,
      message: `Non-matching dry-run options in request and content: [${all.join(' ')}] and [${inside.join(' ')}]`,
    });
}

async function tryEvict(backend: Backend, budgets: Resource, request: Eviction): Promise<void> {
  const { eviction, context, target } = request;
  const options = fieldsOf(eviction['deleteOptions']) as DeleteOptions;
  const dryRun = request.dryRun || (options.dryRun ?? []).length > 0;
  const pod = request.pod();
  const errors = validateDeleteOptions(options);
  if (errors.length > 0) throw invalidOptions('DeleteOptions', errors);
  const permission = isMissed(pod) ? await permit(backend, budgets, { pod, context, dryRun }) : 'unmissed';
  if (dryRun) return void (await deleteObject(backend, context, { ...target, options, dryRun, isAdmitted: true }));
  const resourceVersion = await mark(backend, request, { options, permission });
  // The state that permitted the eviction must not change before the deletion.
  const isBound = permission === 'unmissed' || permission === 'unready' || options.preconditions?.resourceVersion !== undefined;
  const bound = isBound
    ? { ...options, preconditions: { ...options.preconditions, ...(resourceVersion && { resourceVersion }) } }
    : options;
  try {
    await deleteObject(backend, context, { ...target, options: bound, dryRun, isAdmitted: true });
  } catch (error) {
    const isOurs = isBound && options.preconditions?.resourceVersion === undefined;
    throw isOurs && error instanceof StatusError && error.reason === 'Conflict' ? new PodChanged() : error;
  }
}

async function permit(
  backend: Backend,
  budgets: Resource,
  { pod, context, dryRun }: { pod: KubeObject; context: RequestContext; dryRun: boolean },
): Promise<Permission> {
  const namespace = pod.metadata.namespace ?? '';
  const found = context.objects
    .list(budgets, context.cluster, namespace)
    .filter((one) => selectorOfObject(fieldsOf(one['spec'])['selector'] as LabelSelectorObject | undefined).matches(pod.metadata.labels));
  const [budget] = found;
  if (budget === undefined) return 'unguarded';
  if (found.length > 1)
    throw new StatusError({
      code: 500,
      message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    });
  const name = budget.metadata.name ?? '';
  if (!isReady(pod) && mayGoUnready(budget)) return 'unready';
  const now = context.now();
  await update(backend, context, {
    ...{ resource: budgets, namespace, name, subresource: 'status', manager: 'kube-apiserver', dryRun, admits: 'none' },
    change: (latest) => ({ object: charged(latest, pod.metadata.name ?? '', now) }),
  });
  return 'charged';
}

function mayGoUnready(budget: KubeObject): boolean {
  if (fieldsOf(budget['spec'])['unhealthyPodEvictionPolicy'] === 'AlwaysAllow') return true;
  const { currentHealthy, desiredHealthy } = fieldsOf(budget['status']);
  return numberOf(desiredHealthy) > 0 && numberOf(currentHealthy) >= numberOf(desiredHealthy);
}

/** The budget with one disruption fewer; throws the proper error if it has none left. */
function charged(budget: KubeObject, pod: string, now: Date): KubeObject {
  const name = budget.metadata.name ?? '';
  const before = fieldsOf(budget['status']);
  const allowed = numberOf(before['disruptionsAllowed']);
  const disrupted = fieldsOf(before['disruptedPods']);
  if (numberOf(before['observedGeneration']) < (budget.metadata.generation ?? 0)) throw inProgress(name);
  const refuse = (why: string) => status.forbidden({ group: 'policy', resource: 'poddisruptionbudget' }, name, why);
  if (allowed < 0) throw refuse('pdb disruptions allowed is negative');
  if (Object.keys(disrupted).length > maxUnconfirmed)
    throw refuse('DisruptedPods map too big - too many evictions not confirmed by PDB controller');
  if (allowed === 0) {
    const { desiredHealthy, currentHealthy } = before;
    const counts = `needs ${numberOf(desiredHealthy)} healthy pods and has ${numberOf(currentHealthy)} currently`;
    throw violation(`The disruption budget ${name} ${counts}`);
  }
  budget['status'] = {
    ...before,
    disruptionsAllowed: allowed - 1,
    disruptedPods: { ...disrupted, [pod]: formatTime(now) },
    ...(allowed === 1 && { conditions: exhausted(before, now) }),
  };
  return budget;
}

function exhausted(before: Readonly<Fields>, now: Date): Fields[] {
  const conditions = itemsOf(before['conditions']);
  const type = 'DisruptionAllowed';
  const old = conditions.find((condition) => condition['type'] === type);
  const lastTransitionTime = old?.['status'] === 'False' ? old['lastTransitionTime'] : formatTime(now);
  const observedGeneration = numberOf(before['observedGeneration']);
  const condition = { type, status: 'False', observedGeneration, lastTransitionTime, reason: 'InsufficientPods', message: '' };
  return [...conditions.filter((one) => one !== old), condition];
}

/** Sets the condition with the reason on the pod, and checks its state again. Returns the new version. */
async function mark(
  backend: Backend,
  { context, target }: Eviction,
  { options, permission }: { options: DeleteOptions; permission: Permission },
): Promise<string | undefined> {
  const now = context.now();
  const written = await update(backend, context, {
    ...{ ...target, subresource: 'status', manager: context.defaultManager, dryRun: false, admits: 'none' },
    change: (latest) => {
      checkPreconditions(target.resource, latest, options);
      if (permission === 'unmissed' ? isMissed(latest) : permission === 'unready' && isReady(latest)) throw new PodChanged();
      // The server sets it on its own behalf, so no manager owns the condition.
      return { object: leaving(latest, now), applied: true };
    },
  });
  return written.entry.object.metadata.resourceVersion;
}

function leaving(pod: KubeObject, now: Date): KubeObject {
  const before = fieldsOf(pod['status']);
  const conditions = itemsOf(before['conditions']);
  const old = conditions.find(({ type }) => type === 'DisruptionTarget');
  const condition = {
    ...{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' },
    ...{ lastProbeTime: null, lastTransitionTime: old?.['status'] === 'True' ? old['lastTransitionTime'] : formatTime(now) },
  };
  pod['status'] = { ...before, conditions: [...conditions.filter((one) => one !== old), condition] };
  return pod;
}

const inProgress = (budget: string): StatusError =>
  violation(`The disruption budget ${budget} is still being processed by the server.`, 10);

function violation(message: string, retryAfterSeconds?: number): StatusError {
  return new StatusError({
    ...{ code: 429, reason: 'TooManyRequests', message: "Cannot evict pod as it would violate the pod's disruption budget." },
    details: { ...(retryAfterSeconds && { retryAfterSeconds }), causes: [{ reason: 'DisruptionBudget', message }] },
  });
}

/** A pod that never ran, has terminated or is being deleted needs no budget. */
function isMissed(pod: KubeObject): boolean {
  const phase = textOf(fieldsOf(pod['status'])['phase']);
  return phase !== 'Pending' && phase !== 'Succeeded' && phase !== 'Failed' && pod.metadata.deletionTimestamp === undefined;
}

function isReady(pod: KubeObject): boolean {
  return itemsOf(fieldsOf(pod['status'])['conditions']).some(
    (condition) => condition['type'] === 'Ready' && condition['status'] === 'True',
  );
}
