import { FieldPath, formatTime, type KubeObject, status } from '@capstan/machinery';
import type { Strategy, StrategyContext } from '../strategy.ts';
import { made } from './defaulting.ts';
import { defaultPod, defaultTemplate } from './pod-defaults.ts';
import { podParts } from './pod-parts.ts';
import { validatePodUpdate } from './pod-update.ts';
import { validatePod, validatePodTemplate } from './pod-validation.ts';
import { systemPriorities } from './policy.ts';
import { qualityOf } from './quality.ts';
import { type Fields, fieldsOf, isAbsent, itemsOf, numberOf, textOf } from './reading.ts';
import { separateStatus } from './status.ts';
import { warnName, warnPodSpec } from './warnings.ts';

const patience = 300;
const troubles = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

/** A pod stays a while on a node that is in trouble, unless it says otherwise. */
function tolerateTroubles(spec: Fields): void {
  const given = itemsOf(spec['tolerations']);
  const tolerates = (trouble: string) =>
    given.some(({ key, effect }) => ['', trouble].includes(textOf(key)) && ['', 'NoExecute'].includes(textOf(effect)));
  const missing = troubles.filter((trouble) => !tolerates(trouble));
  if (missing.length === 0) return;
  spec['tolerations'] = [
    ...given,
    ...missing.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: patience })),
  ];
}

const priorityClasses = { group: 'scheduling.k8s.io', resource: 'priorityclasses' };

function priorityClassOf(name: string, context: StrategyContext): KubeObject | undefined {
  if (name !== '') return context.objects.get({ ...priorityClasses, cluster: context.cluster, namespace: '', name });
  let found: KubeObject | undefined;
  for (const candidate of context.objects.list(priorityClasses, context.cluster)) {
    if (candidate['globalDefault'] !== true) continue;
    if (found === undefined || numberOf(candidate['value']) < numberOf(found['value'])) found = candidate;
  }
  return found;
}

/** The priority's number, which the name of its class stands for. */
function setPriority(pod: KubeObject, spec: Fields, context: StrategyContext): void {
  const name = textOf(spec['priorityClassName']);
  const found = priorityClassOf(name, context);
  const refuse = (why: string) => status.forbidden({ group: '', resource: 'pods' }, pod.metadata.name ?? '', why);
  if (found === undefined && name !== '' && !systemPriorities.has(name)) throw refuse(`no PriorityClass with name ${name} was found`);
  if (found !== undefined) spec['priorityClassName'] = found.metadata.name;
  const priority = numberOf(found?.['value'] ?? systemPriorities.get(name));
  const preemption = textOf(found?.['preemptionPolicy']) || 'PreemptLowerPriority';
  const computed = 'must not be provided in pod spec; priority admission controller computed';
  const by = 'from the given PriorityClass name';
  if (!isAbsent(spec['priority']) && spec['priority'] !== priority) {
    throw refuse(`the integer value of priority (${numberOf(spec['priority'])}) ${computed} ${priority} ${by}`);
  }
  if (!isAbsent(spec['preemptionPolicy']) && spec['preemptionPolicy'] !== preemption) {
    throw refuse(`the string value of PreemptionPolicy (${textOf(spec['preemptionPolicy'])}) ${computed} ${preemption} ${by}`);
  }
  spec['priority'] = priority;
  spec['preemptionPolicy'] = preemption;
}

function gateCondition(context: StrategyContext): Fields {
  return {
    type: 'PodScheduled',
    status: 'False',
    lastProbeTime: null,
    lastTransitionTime: formatTime(context.now()),
    reason: 'SchedulingGated',
    message: 'Scheduling is blocked due to non-empty scheduling gates',
  };
}

function keepServerFields(object: KubeObject, old: KubeObject): void {
  const spec = made(object, 'spec');
  tolerateTroubles(spec);
  const oldSpec = fieldsOf(old['spec']);
  for (const field of ['priority', 'preemptionPolicy']) {
    if (isAbsent(spec[field]) && !isAbsent(oldSpec[field])) spec[field] = oldSpec[field];
  }
}

/** How long a pod may take to end: at once when it never ran or ended already. */
export function podGracePeriod(pod: KubeObject, requested: number | undefined): number {
  const spec = fieldsOf(pod['spec']);
  const phase = fieldsOf(pod['status'])['phase'];
  if (textOf(spec['nodeName']) === '' || phase === 'Failed' || phase === 'Succeeded') return 0;
  const period = requested ?? numberOf(spec['terminationGracePeriodSeconds']);
  return period < 0 ? 1 : period;
}

const podStrategy: Strategy = separateStatus({
  default: (pod) => defaultPod(made(pod, 'spec')),
  prepareForCreate: (pod, context) => {
    const spec = made(pod, 'spec');
    tolerateTroubles(spec);
    setPriority(pod, spec, context);
    // Negative means at once, as near as it gets.
    if (numberOf(spec['terminationGracePeriodSeconds']) < 0) spec['terminationGracePeriodSeconds'] = 1;
    const gated = itemsOf(spec['schedulingGates']).length > 0;
    pod['status'] = { phase: 'Pending', ...(gated ? { conditions: [gateCondition(context)] } : {}), qosClass: qualityOf(spec) };
    warnName(context.warn, pod, "the Pod's hostname");
    warnPodSpec(context.warn, FieldPath.of('spec'), spec);
  },
  prepareForUpdate: keepServerFields,
  validate: validatePod,
  validateUpdate: validatePodUpdate,
  subresources: podParts,
  generation: true,
  returnDeletedObject: true,
  gracePeriodSeconds: (pod, requested) => podGracePeriod(pod, requested) || undefined,
  selectableLabels: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.podIPs',
    'status.nominatedNodeName',
  ],
  selectableFields: (pod) => {
    const spec = fieldsOf(pod['spec']);
    const status = fieldsOf(pod['status']);
    const address = textOf(itemsOf(status['podIPs'])[0]?.['ip']);
    return {
      'spec.nodeName': textOf(spec['nodeName']),
      'spec.restartPolicy': textOf(spec['restartPolicy']),
      'spec.schedulerName': textOf(spec['schedulerName']),
      'spec.serviceAccountName': textOf(spec['serviceAccountName']),
      'spec.hostNetwork': String(spec['hostNetwork'] === true),
      'status.phase': textOf(status['phase']),
      'status.podIP': address,
      'status.podIPs': address,
      'status.nominatedNodeName': textOf(status['nominatedNodeName']),
    };
  },
});

const podTemplateStrategy: Strategy = {
  default: (object) => void defaultTemplate(object),
  validate: validatePodTemplate,
  generation: true,
  returnDeletedObject: true,
};

export const podStrategies = new Map<string, Strategy>([
  ['/pods', podStrategy],
  ['/podtemplates', podTemplateStrategy],
]);
