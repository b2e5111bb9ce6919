import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldsOf,
  formatTime,
  itemsOf,
  type KubeObject,
  numberOf,
  textOf,
} from '@capstan/machinery';
import { made } from '../shared/defaulting.ts';
import { Findings } from '../shared/findings.ts';
import { separateStatus } from '../shared/status.ts';
import type { Strategy, StrategyContext } from '../strategy.ts';
import { defaultPod, defaultTemplate } from './pod-defaults.ts';
import { podParts } from './pod-parts.ts';
import { adoptAppArmor } from './pod-security-validation.ts';
import { podStatus } from './pod-status.ts';
import { validatePodUpdate } from './pod-update.ts';
import { validatePod, validatePodTemplate } from './pod-validation.ts';
import { qualityOf } from './quality.ts';
import { warnName, warnPod, withTemplateWarnings } from './warnings.ts';

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

/** The grace period of a deletion in seconds: 0 if the pod was never scheduled or has already ended. */
export function podGracePeriod(pod: KubeObject, requested: number | undefined): number {
  const spec = fieldsOf(pod['spec']);
  const phase = fieldsOf(pod['status'])['phase'];
  if (textOf(spec['nodeName']) === '' || phase === 'Failed' || phase === 'Succeeded') return 0;
  const period = requested ?? numberOf(spec['terminationGracePeriodSeconds']);
  return period < 0 ? 1 : period;
}

/** Ephemeral containers can only be added to an existing pod. */
function refuseDebuggers(pod: KubeObject): FieldError[] {
  const found = new Findings();
  if (itemsOf(fieldsOf(pod['spec'])['ephemeralContainers']).length > 0)
    found.forbidden(FieldPath.of('spec', 'ephemeralContainers'), 'cannot be set on create');
  return found.errors;
}

/** The first of a pod's addresses is also in a separate field, for clients that predate multiple addresses. */
function pairAddresses(status: Fields | undefined): void {
  if (status === undefined || status === null) return;
  const [single, first] = [textOf(status['podIP']), itemsOf(status['podIPs'])[0]?.['ip']];
  if (single !== '' && single !== first) status['podIPs'] = [{ ip: single }];
  else if (single === '' && first !== undefined) status['podIP'] = first;
}

const podStrategy: Strategy = separateStatus({
  default: (pod) => {
    defaultPod(made(pod, 'spec'));
    pairAddresses(pod['status'] as Fields | undefined);
  },
  prepareForCreate: (pod, context) => {
    const spec = made(pod, 'spec');
    // Negative values mean the shortest possible period.
    if (numberOf(spec['terminationGracePeriodSeconds']) < 0) spec['terminationGracePeriodSeconds'] = 1;
    const gated = itemsOf(spec['schedulingGates']).length > 0;
    pod['status'] = { phase: 'Pending', ...(gated ? { conditions: [gateCondition(context)] } : {}), qosClass: qualityOf(spec) };
    adoptAppArmor(spec, pod.metadata.annotations, context.warn);
    warnName(context.warn, pod, "the Pod's hostname");
    warnPod(context.warn, pod);
  },
  validate: validatePod,
  validateCreate: refuseDebuggers,
  validateUpdate: validatePodUpdate,
  status: podStatus,
  resetFields: { status: [['spec'], ['metadata', 'deletionTimestamp'], ['metadata', 'ownerReferences']] },
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

const podTemplateStrategy: Strategy = withTemplateWarnings(
  {
    default: (object) => void defaultTemplate(object),
    validate: validatePodTemplate,
    generation: true,
    returnDeletedObject: true,
  },
  ['template'],
);

export const podStrategies = new Map<string, Strategy>([
  ['/pods', podStrategy],
  ['/podtemplates', podTemplateStrategy],
]);
