import type { KubeObject } from '../json.ts';
import type { Quantity } from '../quantity/quantity.ts';
import { type Amounts, addAmounts, readAmounts, wholeAmount } from './amounts.ts';
import type { Measure } from './measure.ts';
import { hasPodLevelAmounts, type PodShape, podConsumption } from './pod-amounts.ts';
import { fitsNames, type Scope } from './scope.ts';

interface AffinityTerm {
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: unknown;
  readonly podAffinityTerm?: AffinityTerm;
}

interface Affinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly AffinityTerm[];
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly AffinityTerm[];
}

type Pod = PodShape & {
  readonly metadata: KubeObject['metadata'];
  readonly spec?: {
    readonly activeDeadlineSeconds?: number | null;
    readonly priorityClassName?: string;
    readonly affinity?: { readonly podAffinity?: Affinity; readonly podAntiAffinity?: Affinity };
  };
  readonly status?: { readonly phase?: string; readonly qosClass?: string };
};

const one = wholeAmount(1);
const named = ['cpu', 'memory', 'ephemeral-storage'] as const;
/** If these are limited, every container must specify its usage. */
const demanded = ['cpu', 'limits.cpu', 'limits.memory', 'memory', 'requests.cpu', 'requests.memory'];

/** Pods with this label only show the units of Capstan, which have limits of their own. Nobody else can write it. */
export const unitPodLabel = 'compute.capstan.dev/unit';

const isUnit = ({ metadata }: KubeObject): boolean => metadata.labels?.[unitPodLabel] !== undefined;

/** A pod that has terminated counts as an object, but uses nothing. */
export const podMeasure: Measure = {
  looksInside: true,
  usage(object, now) {
    if (isUnit(object)) return new Map();
    const pod = object as Pod;
    const usage = new Map([['count/pods', one]]);
    if (isOver(pod, now)) return usage;
    addAmounts(usage, namedUsage(podConsumption(pod, 'requests'), podConsumption(pod, 'limits')));
    return usage;
  },
  isInScope: (scope, object) => isInScope(scope, object as Pod),
  scopeKey: (object) => String(isTerminatingPod(object)),
  missing(limited, object) {
    if (isUnit(object)) return undefined;
    const pod = object as Pod;
    const names = demanded.filter((name) => limited.has(name));
    if (names.length === 0 || hasPodLevelAmounts(pod)) return undefined;
    const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])].map(({ name = '', resources }) => ({
      name,
      says: namedUsage(readAmounts(resources?.requests), readAmounts(resources?.limits)),
    }));
    const complaints = names.flatMap((name) => {
      const silent = containers.filter(({ says }) => !says.has(name)).map((container) => container.name);
      return silent.length === 0 ? [] : [`${name} for: ${[...new Set(silent)].sort().join(',')}`];
    });
    return complaints.length === 0 ? undefined : `must specify ${complaints.join('; ')}`;
  },
};

/** Whether a pod runs for a limited time only. */
export function isTerminatingPod(pod: KubeObject): boolean {
  return ((pod as Pod).spec?.activeDeadlineSeconds ?? -1) >= 0;
}

function namedUsage(requests: Amounts, limits: Amounts): Map<string, Quantity> {
  const usage = new Map([['pods', one]]);
  for (const name of named) {
    const request = requests.get(name);
    if (request !== undefined) usage.set(name, request).set(`requests.${name}`, request);
    const limit = limits.get(name);
    if (limit !== undefined) usage.set(`limits.${name}`, limit);
  }
  for (const [name, request] of requests) {
    if (name.startsWith('hugepages-')) usage.set(name, request).set(`requests.${name}`, request);
    else if (isExtended(name)) usage.set(`requests.${name}`, request);
  }
  return usage;
}

function isExtended(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
}

/** The pod has terminated, or its deletion deadline has passed because its node does not respond. */
function isOver({ status, metadata }: Pod, now: Date): boolean {
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return true;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return false;
  return now.getTime() > Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

function isInScope(scope: Scope, pod: Pod): boolean {
  switch (scope.scopeName) {
    case 'Terminating':
      return isTerminatingPod(pod as KubeObject);
    case 'NotTerminating':
      return !isTerminatingPod(pod as KubeObject);
    case 'BestEffort':
      return isBestEffort(pod);
    case 'NotBestEffort':
      return !isBestEffort(pod);
    case 'PriorityClass':
      return fitsNames(scope, pod.spec?.priorityClassName ? [pod.spec.priorityClassName] : []);
    case 'CrossNamespacePodAffinity':
      return reachesAcross(pod.spec?.affinity?.podAffinity) || reachesAcross(pod.spec?.affinity?.podAntiAffinity);
    default:
      return false;
  }
}

function isBestEffort({ spec, status }: Pod): boolean {
  if (status?.qosClass !== undefined && status.qosClass !== '') return status.qosClass === 'BestEffort';
  const requirements =
    spec?.resources === undefined
      ? [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].map(({ resources }) => resources)
      : [spec.resources];
  return !requirements.some((required) => asks(required?.requests) || asks(required?.limits));
}

function asks(amounts: unknown): boolean {
  const read = readAmounts(amounts);
  return (read.get('cpu')?.value ?? 0n) > 0n || (read.get('memory')?.value ?? 0n) > 0n;
}

function reachesAcross(affinity: Affinity | undefined): boolean {
  const terms = [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
  ];
  return terms.some((term) => (term?.namespaces?.length ?? 0) > 0 || (term?.namespaceSelector ?? undefined) !== undefined);
}
