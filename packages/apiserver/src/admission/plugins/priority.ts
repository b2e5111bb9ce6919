import { made, systemPriorities } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { fieldsOf, isAbsent, numberOf, textOf } from '@capstan/machinery';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import type { RequestContext } from '../../registry/context.ts';
import { forbidden } from '../forbidden.ts';

const classes = { group: 'scheduling.k8s.io', resource: 'priorityclasses' };

/** Resolves the priority class of pods to a number, and allows at most one default class. */
export const priority: AdmissionPlugin = {
  name: 'Priority',
  mutate(request) {
    const { resource, operation, subresource, object } = request;
    if (resource.group !== '' || resource.resource !== 'pods' || subresource !== '' || object === undefined) return;
    if (operation === 'CREATE') setPriority(request, object);
    if (operation === 'UPDATE') keepPriority(object, request.old);
  },
  validate(request) {
    const { resource, operation, subresource, object, context } = request;
    if (resource.resource !== classes.resource || resource.group !== classes.group || subresource !== '') return;
    if (object?.['globalDefault'] !== true) return;
    const other = defaultClass(context);
    if (other === undefined || (operation === 'UPDATE' && other.metadata.name === object.metadata.name)) return;
    throw forbidden(request, `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`);
  },
};

function setPriority(request: AdmissionRequest, pod: KubeObject): void {
  const spec = made(pod, 'spec');
  const name = textOf(spec['priorityClassName']);
  const found = name === '' ? defaultClass(request.context) : namedClass(request.context, name);
  if (found === undefined && name !== '' && !systemPriorities.has(name)) {
    throw forbidden(request, `no PriorityClass with name ${name} was found`);
  }
  if (found !== undefined) spec['priorityClassName'] = found.metadata.name;
  const value = numberOf(found?.['value'] ?? systemPriorities.get(name));
  const preemption = textOf(found?.['preemptionPolicy']) || 'PreemptLowerPriority';
  const computed = 'must not be provided in pod spec; priority admission controller computed';
  const by = 'from the given PriorityClass name';
  if (!isAbsent(spec['priority']) && spec['priority'] !== value) {
    throw forbidden(request, `the integer value of priority (${numberOf(spec['priority'])}) ${computed} ${value} ${by}`);
  }
  if (!isAbsent(spec['preemptionPolicy']) && spec['preemptionPolicy'] !== preemption) {
    throw forbidden(request, `the string value of PreemptionPolicy (${textOf(spec['preemptionPolicy'])}) ${computed} ${preemption} ${by}`);
  }
  spec['priority'] = value;
  spec['preemptionPolicy'] = preemption;
}

function keepPriority(pod: KubeObject, old: KubeObject | undefined): void {
  const spec = made(pod, 'spec');
  const oldSpec = fieldsOf(old?.['spec']);
  for (const field of ['priority', 'preemptionPolicy']) {
    if (isAbsent(spec[field]) && !isAbsent(oldSpec[field])) spec[field] = oldSpec[field];
  }
}

function namedClass({ objects, cluster }: RequestContext, name: string): KubeObject | undefined {
  return objects.get({ ...classes, cluster, namespace: '', name });
}

/** The lowest one, if there are several after all. */
function defaultClass({ objects, cluster }: RequestContext): KubeObject | undefined {
  let found: KubeObject | undefined;
  for (const candidate of objects.list(classes, cluster)) {
    if (candidate['globalDefault'] !== true) continue;
    if (found === undefined || numberOf(candidate['value']) < numberOf(found['value'])) found = candidate;
  }
  return found;
}
