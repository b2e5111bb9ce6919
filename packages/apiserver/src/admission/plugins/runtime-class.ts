import { made } from '@capstan/kinds';
import {
  type Fields,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  limitSteps,
  maybeFields,
  numberOf,
  OutOfSteps,
  StatusError,
  sameJson,
  spend,
  stringMapOf,
  textOf,
} from '@capstan/machinery';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import { forbidden } from '../forbidden.ts';

const classes = { group: 'node.k8s.io', resource: 'runtimeclasses' };
const otherOverhead = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

/** Sets the overhead and scheduling constraints of the pod's runtime class. */
export const runtimeClass: AdmissionPlugin = {
  name: 'RuntimeClass',
  mutate(request) {
    if (!isNewPod(request)) return;
    const spec = made(request.object!, 'spec');
    const chosen = classOf(request, spec);
    if (chosen === undefined) return;
    const overhead = maybeFields(chosen['overhead']);
    if (overhead !== undefined) setOverhead(request, spec, overhead);
    const scheduling = maybeFields(chosen['scheduling']);
    if (scheduling !== undefined) setScheduling(request, spec, scheduling);
  },
  validate(request) {
    if (!isNewPod(request)) return;
    const spec = fieldsOf(request.object!['spec']);
    const overhead = maybeFields(classOf(request, spec)?.['overhead']);
    if (overhead !== undefined) {
      if (!sameJson(fieldsOf(overhead['podFixed']), fieldsOf(spec['overhead']))) throw forbidden(request, otherOverhead);
    } else if (!isAbsent(spec['overhead'])) {
      throw forbidden(request, 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead');
    }
  },
};

function isNewPod({ resource, operation, subresource, object }: AdmissionRequest): boolean {
  return operation === 'CREATE' && resource.resource === 'pods' && resource.group === '' && subresource === '' && object !== undefined;
}

function classOf(request: AdmissionRequest, spec: Readonly<Fields>): KubeObject | undefined {
  if (isAbsent(spec['runtimeClassName'])) return undefined;
  const { context } = request;
  const name = textOf(spec['runtimeClassName']);
  if (name === '') throw new StatusError({ code: 500, message: 'resource name may not be empty' });
  const found = context.objects.get({ ...classes, cluster: context.cluster, namespace: '', name });
  if (found === undefined) throw forbidden(request, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
  return found;
}

function setOverhead(request: AdmissionRequest, spec: Fields, { podFixed }: Readonly<Fields>): void {
  const given = fieldsOf(spec['overhead']);
  if (Object.keys(given).length > 0 && !sameJson({ ...given }, { ...fieldsOf(podFixed) })) throw forbidden(request, otherOverhead);
  if (isAbsent(podFixed)) delete spec['overhead'];
  else spec['overhead'] = structuredClone(podFixed);
}

function setScheduling(request: AdmissionRequest, spec: Fields, { nodeSelector, tolerations }: Readonly<Fields>): void {
  const wanted = stringMapOf(nodeSelector);
  const given = stringMapOf(spec['nodeSelector']);
  for (const [key, value] of Object.entries(wanted)) {
    if (given[key] === undefined || given[key] === value) continue;
    throw forbidden(
      request,
      `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${given[key]}`,
    );
  }
  if (Object.keys(wanted).length > 0) spec['nodeSelector'] = { ...given, ...wanted };
  const merged = mergedTolerations(request, [...itemsOf(spec['tolerations']), ...itemsOf(tolerations)]);
  if (merged.length > 0) spec['tolerations'] = merged;
}

/** The steps that comparing tolerations with each other may take: some 700 tolerations. */
const mostSteps = 5_000_000;
const stepsPerComparison = 10;

function mergedTolerations(request: AdmissionRequest, all: readonly Fields[]): Fields[] {
  try {
    return limitSteps(mostSteps, () => mergeTolerations(all));
  } catch (error) {
    if (!(error instanceof OutOfSteps)) throw error;
    throw forbidden(request, `pod rejected: it has ${all.length} tolerations with those of its RuntimeClass, too many to compare`);
  }
}

/** Drops tolerations that another one includes. */
function mergeTolerations(all: readonly Fields[]): Fields[] {
  const merged: Fields[] = [];
  for (const [index, toleration] of all.entries()) {
    if (merged.some((other) => includes(other, toleration))) continue;
    const isIncludedLater = all.slice(index + 1).some((other) => !sameJson(other, toleration) && includes(other, toleration));
    if (!isIncludedLater) merged.push(structuredClone(toleration));
  }
  return merged;
}

function includes(larger: Readonly<Fields>, smaller: Readonly<Fields>): boolean {
  spend(stepsPerComparison);
  if (sameJson(larger, smaller)) return true;
  const [operator, effect] = [textOf(larger['operator']), textOf(larger['effect'])];
  const matchesAll = textOf(larger['key']) === '' && operator === 'Exists';
  if (textOf(smaller['key']) !== textOf(larger['key']) && !matchesAll) return false;
  if (effect !== '' && textOf(smaller['effect']) !== effect) return false;
  if (effect === 'NoExecute' && !isAbsent(larger['tolerationSeconds'])) {
    const seconds = smaller['tolerationSeconds'];
    if (isAbsent(seconds) || numberOf(seconds) > numberOf(larger['tolerationSeconds'])) return false;
  }
  if (operator === 'Exists') return true;
  return textOf(smaller['operator']) === 'Equal' && textOf(smaller['value']) === textOf(larger['value']);
}
