import {
  type FieldError,
  FieldPath,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  names,
  numberOf,
  stringMapOf,
  textOf,
  validateConditions,
  validateLabelSelector,
  validateLabels,
} from '@capstan/machinery';
import { checkTolerations } from '../pods/scheduling.ts';
import { applyDefaults } from '../shared/defaulting.ts';
import { Findings } from '../shared/findings.ts';
import { checkRequirements } from '../shared/resources.ts';
import { checkAtMostEverything, checkNumberOrPercentage } from '../shared/scales.ts';
import { separateStatus } from '../shared/status.ts';
import { validateCounts } from '../shared/status-counts.ts';
import type { Strategy } from '../strategy.ts';

function validateDisruptionBudget(budget: KubeObject): FieldError[] {
  const found = new Findings();
  const at = FieldPath.of('spec');
  const spec = fieldsOf(budget['spec']);
  if (!isAbsent(spec['minAvailable']) && !isAbsent(spec['maxUnavailable'])) {
    const { minAvailable, selector, maxUnavailable, unhealthyPodEvictionPolicy } = spec;
    const shown = {
      MinAvailable: minAvailable,
      Selector: selector ?? null,
      MaxUnavailable: maxUnavailable,
      UnhealthyPodEvictionPolicy: unhealthyPodEvictionPolicy ?? null,
    };
    found.invalid(at, shown, 'minAvailable and maxUnavailable cannot be both set');
  }
  for (const field of ['minAvailable', 'maxUnavailable']) {
    checkNumberOrPercentage(found, at.child(field), spec[field]);
    checkAtMostEverything(found, at.child(field), spec[field]);
  }
  found.add(validateLabelSelector(fieldsOf(spec['selector']), at.child('selector')));
  found.optionalOneOf(at.child('unhealthyPodEvictionPolicy'), spec['unhealthyPodEvictionPolicy'], ['AlwaysAllow', 'IfHealthyBudget']);
  return found.errors;
}

const highestUserPriority = 1_000_000_000;
/** Priority classes that always exist. */
export const systemPriorities = new Map([
  ['system-node-critical', 2_000_001_000],
  ['system-cluster-critical', 2_000_000_000],
]);

function systemClassProblem(priorityClass: KubeObject): string | undefined {
  const name = priorityClass.metadata.name ?? '';
  const value = systemPriorities.get(name);
  if (value === undefined) return `${name} is not a known system priority class`;
  if (value !== numberOf(priorityClass['value'])) return `value of ${name} PriorityClass must be ${value}`;
  return priorityClass['globalDefault'] === true ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

function validatePriorityClass(priorityClass: KubeObject): FieldError[] {
  const found = new Findings();
  if (priorityClass.metadata.name?.startsWith('system-')) {
    const problem = systemClassProblem(priorityClass);
    if (problem !== undefined) {
      const rule = `priority class names with 'system-' prefix are reserved for system use only. error: ${problem}`;
      found.forbidden(FieldPath.of('metadata', 'name'), rule);
    }
  } else if (numberOf(priorityClass['value']) > highestUserPriority) {
    found.forbidden(FieldPath.of('value'), `maximum allowed value of a user defined priority is ${highestUserPriority}`);
  }
  found.oneOf(FieldPath.of('preemptionPolicy'), priorityClass['preemptionPolicy'], ['PreemptLowerPriority', 'Never']);
  return found.errors;
}

function validatePriorityClassUpdate(priorityClass: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  if (numberOf(priorityClass['value']) !== numberOf(old['value'])) {
    found.forbidden(FieldPath.of('value'), 'may not be changed in an update.');
  }
  const policy = priorityClass['preemptionPolicy'];
  found.immutable(FieldPath.of('preemptionPolicy'), policy, policy === old['preemptionPolicy']);
  return found.errors;
}

function validateRuntimeClass(runtimeClass: KubeObject): FieldError[] {
  const found = new Findings();
  const handler = textOf(runtimeClass['handler']);
  found.invalid(FieldPath.of('handler'), handler, names.dns1123Label(handler));
  checkRequirements(found, FieldPath.of('overhead'), { limits: fieldsOf(runtimeClass['overhead'])['podFixed'] });
  const scheduling = fieldsOf(runtimeClass['scheduling']);
  const at = FieldPath.of('scheduling');
  found.add(validateLabels(stringMapOf(scheduling['nodeSelector']), at.child('nodeSelector')));
  checkTolerations(found, at.child('tolerations').child('tolerations'), itemsOf(scheduling['tolerations']));
  return found.errors;
}

const budgetCounts = validateCounts({ fields: ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] });

function validateBudgetStatus(budget: KubeObject): FieldError[] {
  return [
    ...validateConditions(itemsOf(fieldsOf(budget['status'])['conditions']), FieldPath.of('status', 'conditions')),
    ...budgetCounts(budget),
  ];
}

/** Strategies of disruption budgets, priority classes and runtime classes. */
export const policyStrategies = new Map<string, Strategy>([
  [
    'policy/poddisruptionbudgets',
    separateStatus(
      {
        validate: validateDisruptionBudget,
        generation: true,
        requireResourceVersion: true,
        status: { validate: validateBudgetStatus },
      },
      () => ({
        disruptionsAllowed: 0,
        currentHealthy: 0,
        desiredHealthy: 0,
        expectedPods: 0,
      }),
    ),
  ],
  [
    'scheduling.k8s.io/priorityclasses',
    {
      default: (object) => applyDefaults(object, { setOptional: { preemptionPolicy: 'PreemptLowerPriority' } }),
      validate: validatePriorityClass,
      validateUpdate: validatePriorityClassUpdate,
      // The generation is set once and never incremented.
      prepareForCreate: ({ metadata }) => {
        metadata.generation = 1;
      },
    },
  ],
  [
    'node.k8s.io/runtimeclasses',
    {
      validate: validateRuntimeClass,
      validateUpdate: (object, old) => {
        const found = new Findings();
        found.immutable(FieldPath.of('handler'), object['handler'], object['handler'] === old['handler']);
        return found.errors;
      },
      createOnUpdate: true,
      requireResourceVersion: true,
    },
  ],
]);
