import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  maybeFields,
  names,
  numberOf,
  textOf,
} from '@capstan/machinery';
import { applyDefaults, made } from '../shared/defaulting.ts';
import { Findings } from '../shared/findings.ts';
import { checkContainerResource, compareAmounts } from '../shared/resources.ts';
import { separateStatus } from '../shared/status.ts';
import { validateCounts } from '../shared/status-counts.ts';
import type { Strategy } from '../strategy.ts';
import { cpuMetric, horizontalPodAutoscalerToV2, settleCurrentMetrics } from './autoscaling-versions.ts';

const usualUtilization = 80;

const scaleUp = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};

const scaleDown = { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] };

/** Runs in the client's version; v1 has neither metrics nor behavior. */
function defaultAutoscaler(object: KubeObject): void {
  const spec = made(object, 'spec');
  applyDefaults(spec, { set: { minReplicas: 1 } });
  if (object.apiVersion === 'autoscaling/v1') {
    if (isAbsent(spec['targetCPUUtilizationPercentage']) && isAbsent(object.metadata.annotations)) {
      spec['targetCPUUtilizationPercentage'] = usualUtilization;
    }
    settleCurrentMetrics(object);
    return;
  }
  if (itemsOf(spec['metrics']).length === 0) spec['metrics'] = [cpuMetric(usualUtilization)];
  const behavior = maybeFields(spec['behavior']);
  if (behavior === undefined) return;
  applyDefaults(made(behavior, 'scaleUp'), { setOptional: scaleUp });
  applyDefaults(made(behavior, 'scaleDown'), { setOptional: scaleDown });
}

function checkReference(found: Findings, at: FieldPath, reference: Readonly<Fields>): void {
  for (const field of ['kind', 'name']) {
    const value = textOf(reference[field]);
    if (value === '') found.required(at.child(field));
    else found.invalid(at.child(field), value, names.pathSegment(value));
  }
  const version = textOf(reference['apiVersion']);
  if (version.split('/').length > 2) found.invalid(at.child('apiVersion'), version, `unexpected GroupVersion string: ${version}`);
}

const sources = new Map([
  ['Object', 'object'],
  ['External', 'external'],
  ['Pods', 'pods'],
  ['Resource', 'resource'],
  ['ContainerResource', 'containerResource'],
]);

function checkTarget(found: Findings, at: FieldPath, target: Readonly<Fields>): void {
  const type = textOf(target['type']);
  if (type === '') found.required(at.child('type'), 'must specify a metric target type');
  if (!['Utilization', 'Value', 'AverageValue'].includes(type)) {
    found.invalid(at.child('type'), type, 'must be either Utilization, Value, or AverageValue');
  }
  for (const field of ['value', 'averageValue']) {
    if (!isAbsent(target[field]) && compareAmounts(target[field], '0') <= 0)
      found.invalid(at.child(field), target[field], 'must be positive');
  }
  const utilization = target['averageUtilization'];
  if (!isAbsent(utilization) && numberOf(utilization) < 1)
    found.invalid(at.child('averageUtilization'), utilization, 'must be greater than 0');
}

/** Checks the target values that a metric source requires, with the error message to report. */
function checkTargetValues(found: Findings, at: FieldPath, { source, target }: { source: string; target: Readonly<Fields> }): void {
  const has = (field: string) => !isAbsent(target[field]);
  if (source === 'object' && !has('value') && !has('averageValue')) {
    found.required(at.child('averageValue'), 'must set either a target value or averageValue');
  }
  if (source === 'external') {
    if (!has('value') && !has('averageValue')) {
      found.required(at.child('averageValue'), 'must set either a target value for metric or a per-pod target');
    }
    if (has('value') && has('averageValue')) {
      found.forbidden(at.child('value'), 'may not set both a target value for metric and a per-pod target');
    }
  }
  if (source === 'pods' && !has('averageValue')) found.required(at.child('averageValue'), 'must specify a positive target averageValue');
  if (source !== 'resource' && source !== 'containerResource') return;
  if (!has('averageUtilization') && !has('averageValue')) {
    found.required(at.child('averageUtilization'), 'must set either a target raw value or a target utilization');
  }
  if (has('averageUtilization') && has('averageValue')) {
    found.forbidden(at.child('averageValue'), 'may not set both a target raw value and a target utilization');
  }
}

function checkSource(found: Findings, at: FieldPath, { source, fields }: { source: string; fields: Readonly<Fields> }): void {
  if (source === 'object') checkReference(found, at.child('describedObject'), fieldsOf(fields['describedObject']));
  if (source === 'resource' || source === 'containerResource') {
    if (textOf(fields['name']) === '') found.required(at.child('name'), 'must specify a resource name');
    else if (source === 'containerResource') checkContainerResource(found, at.child('name'), textOf(fields['name']));
    const container = textOf(fields['container']);
    if (source === 'containerResource') {
      if (container === '') found.required(at.child('container'), 'must specify a container');
      else found.invalid(at.child('container'), container, names.dns1123Label(container));
    }
  } else {
    const name = textOf(fieldsOf(fields['metric'])['name']);
    if (name === '') found.required(at.child('metric', 'name'), 'must specify a metric name');
    else found.invalid(at.child('metric', 'name'), name, names.pathSegment(name));
  }
  const target = fieldsOf(fields['target']);
  checkTarget(found, at.child('target'), target);
  checkTargetValues(found, at.child('target'), { source, target });
}

function checkMetric(found: Findings, at: FieldPath, metric: Readonly<Fields>): void {
  const type = textOf(metric['type']);
  const expected = sources.get(type);
  if (type === '') found.required(at.child('type'), 'must specify a metric source type');
  if (expected === undefined) found.notSupported(at.child('type'), type, [...sources.keys()].sort());
  const given = [...sources.values()].filter((source) => !isAbsent(metric[source]));
  if (given[0] !== undefined) checkSource(found, at.child(given[0]), { source: given[0], fields: fieldsOf(metric[given[0]]) });
  if (expected === undefined) found.notSupported(at.child('type'), type, [...sources.keys()].sort());
  else if (isAbsent(metric[expected])) {
    found.required(at.child(expected), 'must populate information for the given metric source');
  }
  if (given.length === 1) return;
  for (const source of given) if (source !== expected) found.forbidden(at.child(source), 'must populate the given metric source only');
}

const hour = 3600;
const halfHour = 1800;

function checkRules(found: Findings, at: FieldPath, rules: Readonly<Fields>): void {
  const window = rules['stabilizationWindowSeconds'];
  if (numberOf(window) < 0) found.invalid(at.child('stabilizationWindowSeconds'), window, 'must be greater than or equal to zero');
  if (numberOf(window) > hour) found.invalid(at.child('stabilizationWindowSeconds'), window, `must be less than or equal to ${hour}`);
  found.optionalOneOf(at.child('selectPolicy'), rules['selectPolicy'], ['Disabled', 'Max', 'Min']);
  const policies = itemsOf(rules['policies']);
  if (policies.length === 0) found.required(at.child('policies'), 'must specify at least one Policy');
  for (const [index, policy] of policies.entries()) {
    const path = at.child('policies').index(index);
    if (policy['type'] !== 'Pods' && policy['type'] !== 'Percent')
      found.notSupported(path.child('type'), policy['type'], ['Percent', 'Pods']);
    for (const field of ['value', 'periodSeconds']) {
      if (numberOf(policy[field]) <= 0) found.invalid(path.child(field), numberOf(policy[field]), 'must be greater than zero');
    }
    const period = numberOf(policy['periodSeconds']);
    if (period > halfHour) found.invalid(path.child('periodSeconds'), period, `must be less than or equal to ${halfHour}`);
  }
}

function validateAutoscaler(object: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf((object.apiVersion === 'autoscaling/v1' ? horizontalPodAutoscalerToV2(object) : object)['spec']);
  const at = FieldPath.of('spec');
  const { minReplicas } = spec;
  const maxReplicas = numberOf(spec['maxReplicas']);
  if (!isAbsent(minReplicas) && numberOf(minReplicas) < 1)
    found.invalid(at.child('minReplicas'), minReplicas, 'must be greater than or equal to 1');
  if (maxReplicas < 1) found.invalid(at.child('maxReplicas'), maxReplicas, 'must be greater than 0');
  if (!isAbsent(minReplicas) && maxReplicas < numberOf(minReplicas)) {
    found.invalid(at.child('maxReplicas'), maxReplicas, 'must be greater than or equal to `minReplicas`');
  }
  checkReference(found, at.child('scaleTargetRef'), fieldsOf(spec['scaleTargetRef']));
  for (const [index, metric] of itemsOf(spec['metrics']).entries()) checkMetric(found, at.child('metrics').index(index), metric);
  const behavior = fieldsOf(spec['behavior']);
  for (const direction of ['scaleUp', 'scaleDown']) {
    const rules = maybeFields(behavior[direction]);
    if (rules !== undefined) checkRules(found, at.child('behavior', direction), rules);
  }
  return found.errors;
}

/** Only ReplicationController is scalable and in the core group. */
function validateTarget(object: KubeObject): FieldError[] {
  const found = new Findings();
  const target = targetOf(object);
  const version = textOf(target['apiVersion']);
  if (version.indexOf('/') <= 0 && target['kind'] !== 'ReplicationController') {
    found.invalid(FieldPath.of('spec').child('scaleTargetRef', 'apiVersion'), version, 'apiVersion must specify API group');
  }
  return found.errors;
}

const targetOf = (object: KubeObject): Readonly<Fields> => fieldsOf(fieldsOf(object['spec'])['scaleTargetRef']);

/** An invalid target is accepted if it did not change. */
function validateChangedTarget(object: KubeObject, old: KubeObject): FieldError[] {
  const [now, before] = [targetOf(object), targetOf(old)];
  return now['apiVersion'] === before['apiVersion'] && now['kind'] === before['kind'] ? [] : validateTarget(object);
}

export const autoscalingStrategies = new Map<string, Strategy>([
  [
    'autoscaling/horizontalpodautoscalers',
    separateStatus(
      {
        default: defaultAutoscaler,
        validate: validateAutoscaler,
        validateCreate: validateTarget,
        validateUpdate: validateChangedTarget,
        status: { validate: validateCounts({ fields: ['currentReplicas', 'desiredReplicas'] }) },
      },
      ({ apiVersion }) =>
        apiVersion === 'autoscaling/v1' ? { currentReplicas: 0, desiredReplicas: 0 } : { desiredReplicas: 0, currentMetrics: null },
    ),
  ],
]);
