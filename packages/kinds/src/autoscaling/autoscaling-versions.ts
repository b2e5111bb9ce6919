import type { KubeObject } from '@capstan/machinery';
import { type Fields, fieldsOf, isAbsent, itemsOf, maybeFields } from '@capstan/machinery';

/**
 * autoscaling/v1 has only one metric, the target CPU utilization. The rest of a v2 autoscaler is kept in annotations, so that a client can
 * read it as v1 and write it back without losing anything.
 */
const metricsAnnotation = 'autoscaling.alpha.kubernetes.io/metrics';
const currentMetricsAnnotation = 'autoscaling.alpha.kubernetes.io/current-metrics';
const conditionsAnnotation = 'autoscaling.alpha.kubernetes.io/conditions';
const behaviorAnnotation = 'autoscaling.alpha.kubernetes.io/behavior';
const travelling = new Set([metricsAnnotation, currentMetricsAnnotation, conditionsAnnotation, behaviorAnnotation]);

export function cpuMetric(percentage: number): Fields {
  return { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: percentage } } };
}

function cpuUtilization(metric: Fields): number | undefined {
  const resource = fieldsOf(metric['resource']);
  const percentage = fieldsOf(resource['target'])['averageUtilization'];
  return metric['type'] === 'Resource' && resource['name'] === 'cpu' && typeof percentage === 'number' ? percentage : undefined;
}

function withoutTravelling(annotations: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations ?? {}).filter(([key]) => !travelling.has(key)));
}

function withAnnotations(object: KubeObject, annotations: Record<string, string>): KubeObject['metadata'] {
  const { annotations: _, ...metadata } = object.metadata;
  return Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations };
}

function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // Clients may write anything here; ignore what cannot be parsed.
    return undefined;
  }
}

/** How v1 represents a metric source: its field names for the target in the spec and for the current value in the status. */
interface MetricForm {
  readonly source: string;
  readonly spec: readonly Rename[];
  readonly status: readonly Rename[];
}

/** A path in v2 and the corresponding field in v1. */
type Rename = readonly [v2: readonly [string, ...string[]], v1: string];

const forms: readonly MetricForm[] = [
  {
    source: 'external',
    spec: [
      [['metric', 'name'], 'metricName'],
      [['metric', 'selector'], 'metricSelector'],
      [['target', 'value'], 'targetValue'],
      [['target', 'averageValue'], 'targetAverageValue'],
    ],
    status: [
      [['metric', 'name'], 'metricName'],
      [['metric', 'selector'], 'metricSelector'],
      [['current', 'value'], 'currentValue'],
      [['current', 'averageValue'], 'currentAverageValue'],
    ],
  },
  {
    source: 'object',
    spec: [
      [['describedObject'], 'target'],
      [['metric', 'name'], 'metricName'],
      [['metric', 'selector'], 'selector'],
      [['target', 'value'], 'targetValue'],
      [['target', 'averageValue'], 'averageValue'],
    ],
    status: [
      [['describedObject'], 'target'],
      [['metric', 'name'], 'metricName'],
      [['metric', 'selector'], 'selector'],
      [['current', 'value'], 'currentValue'],
      [['current', 'averageValue'], 'averageValue'],
    ],
  },
  {
    source: 'pods',
    spec: [
      [['metric', 'name'], 'metricName'],
      [['metric', 'selector'], 'selector'],
      [['target', 'averageValue'], 'targetAverageValue'],
    ],
    status: [
      [['metric', 'name'], 'metricName'],
      [['metric', 'selector'], 'selector'],
      [['current', 'averageValue'], 'currentAverageValue'],
    ],
  },
  ...['resource', 'containerResource'].map(
    (source): MetricForm => ({
      source,
      spec: [
        [['name'], 'name'],
        [['container'], 'container'],
        [['target', 'averageUtilization'], 'targetAverageUtilization'],
        [['target', 'averageValue'], 'targetAverageValue'],
      ],
      status: [
        [['name'], 'name'],
        [['container'], 'container'],
        [['current', 'averageUtilization'], 'currentAverageUtilization'],
        [['current', 'averageValue'], 'currentAverageValue'],
      ],
    }),
  ),
];

function metricToV1(metric: Fields, part: 'spec' | 'status'): Fields {
  const converted: Fields = { type: metric['type'] };
  for (const form of forms) {
    if (isAbsent(metric[form.source])) continue;
    const source: Fields = {};
    for (const [[first, second], name] of form[part]) {
      const from = fieldsOf(metric[form.source])[first];
      const value = second === undefined ? from : fieldsOf(from)[second];
      if (!isAbsent(value)) source[name] = value;
      // v1 always has this field for metrics measured on pods.
      else if (name === 'currentAverageValue' && form.source !== 'external') source[name] = '0';
    }
    converted[form.source] = source;
  }
  return converted;
}

function metricToV2(metric: Fields, part: 'spec' | 'status'): Fields {
  const converted: Fields = { type: metric['type'] };
  for (const form of forms) {
    if (isAbsent(metric[form.source])) continue;
    const from = fieldsOf(metric[form.source]);
    const source: Fields = {};
    for (const [[first, second], name] of form[part]) {
      if (isAbsent(from[name])) continue;
      if (second === undefined) source[first] = from[name];
      else source[first] = { ...fieldsOf(source[first]), [second]: from[name] };
    }
    if (part === 'spec') source['target'] = { type: targetType(fieldsOf(source['target'])), ...fieldsOf(source['target']) };
    converted[form.source] = source;
  }
  return converted;
}

/** v1 stores behavior with Go's field names; all fields are present, and unset ones are null. */
const travellingRules = ['StabilizationWindowSeconds', 'SelectPolicy', 'Policies', 'Tolerance'];
const travellingPolicy = ['Type', 'Value', 'PeriodSeconds'];

const lowered = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

function packed(fields: Readonly<Fields>, names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, fields[lowered(name)] ?? null]));
}

function unpacked(fields: Readonly<Fields>, names: readonly string[]): Fields {
  return Object.fromEntries(names.filter((name) => !isAbsent(fields[name])).map((name) => [lowered(name), fields[name]]));
}

function behaviorText(behavior: Readonly<Fields>): string {
  const rules = (direction: string) => {
    const given = maybeFields(behavior[direction]);
    if (given === undefined) return null;
    const policies = itemsOf(given['policies']).map((policy) => packed(policy, travellingPolicy));
    return packed({ ...given, policies }, travellingRules);
  };
  return JSON.stringify({ ScaleUp: rules('scaleUp'), ScaleDown: rules('scaleDown') });
}

function behaviorOf(text: string | undefined): Fields | undefined {
  const given = maybeFields(parsed(text));
  if (given === undefined) return undefined;
  const behavior: Fields = {};
  for (const direction of ['ScaleUp', 'ScaleDown']) {
    const rules = maybeFields(given[direction]);
    if (rules === undefined) continue;
    const policies = itemsOf(rules['Policies']).map((policy) => unpacked(policy, travellingPolicy));
    behavior[lowered(direction)] = { ...unpacked(rules, travellingRules), ...(isAbsent(rules['Policies']) ? {} : { policies }) };
  }
  return Object.keys(behavior).length === 0 ? undefined : behavior;
}

function targetType(target: Fields): string {
  if (!isAbsent(target['averageUtilization'])) return 'Utilization';
  return isAbsent(target['averageValue']) ? 'Value' : 'AverageValue';
}

export function horizontalPodAutoscalerToV1(object: KubeObject): KubeObject {
  const { metrics, behavior, ...spec } = fieldsOf(object['spec']);
  const { currentMetrics, conditions, ...status } = fieldsOf(object['status']);
  const annotations = withoutTravelling(object.metadata.annotations);
  const percentage = itemsOf(metrics)
    .map(cpuUtilization)
    .find((found) => found !== undefined);
  const others = itemsOf(metrics).filter((metric) => cpuUtilization(metric) === undefined);
  if (others.length > 0) annotations[metricsAnnotation] = JSON.stringify(others.map((metric) => metricToV1(metric, 'spec')));
  if (itemsOf(currentMetrics).length > 0) {
    annotations[currentMetricsAnnotation] = JSON.stringify(itemsOf(currentMetrics).map((metric) => metricToV1(metric, 'status')));
  }
  if (!isAbsent(behavior)) annotations[behaviorAnnotation] = behaviorText(fieldsOf(behavior));
  if (itemsOf(conditions).length > 0) annotations[conditionsAnnotation] = JSON.stringify(conditions);
  const currentPercentage = itemsOf(currentMetrics)
    .map((metric) => fieldsOf(metric['resource']))
    .find((resource) => resource['name'] === 'cpu');
  const current = fieldsOf(currentPercentage?.['current'])['averageUtilization'];
  return {
    ...object,
    apiVersion: 'autoscaling/v1',
    metadata: withAnnotations(object, annotations),
    spec: percentage === undefined ? spec : { ...spec, targetCPUUtilizationPercentage: percentage },
    status: { currentReplicas: 0, ...status, ...(isAbsent(current) ? {} : { currentCPUUtilizationPercentage: current }) },
  };
}

export function horizontalPodAutoscalerToV2(object: KubeObject): KubeObject {
  const { targetCPUUtilizationPercentage: percentage, ...spec } = fieldsOf(object['spec']);
  const { currentCPUUtilizationPercentage: current, ...status } = fieldsOf(object['status']);
  const annotations = object.metadata.annotations ?? {};
  const others = itemsOf(parsed(annotations[metricsAnnotation])).map((metric) => metricToV2(metric, 'spec'));
  const metrics = typeof percentage === 'number' ? [...others, cpuMetric(percentage)] : others;
  const behavior = behaviorOf(annotations[behaviorAnnotation]);
  const conditions = parsed(annotations[conditionsAnnotation]);
  const observed = parsed(annotations[currentMetricsAnnotation]);
  // v2 omits zero counts but always has the list of metrics.
  const newStatus: Fields = { ...status, currentMetrics: null };
  if (newStatus['currentReplicas'] === 0) delete newStatus['currentReplicas'];
  if (Array.isArray(observed)) newStatus['currentMetrics'] = itemsOf(observed).map((metric) => metricToV2(metric, 'status'));
  else if (!isAbsent(current)) {
    newStatus['currentMetrics'] = [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: current } } }];
  }
  if (Array.isArray(conditions)) newStatus['conditions'] = conditions;
  return {
    ...object,
    apiVersion: 'autoscaling/v2',
    metadata: withAnnotations(object, withoutTravelling(annotations)),
    spec: {
      ...spec,
      metrics: metrics.length === 0 ? [cpuMetric(80)] : metrics,
      ...(behavior === undefined ? {} : { behavior }),
    },
    status: newStatus,
  };
}

/** v1 has the current metrics in two places, the status and an annotation. The annotation wins and is added if missing. */
export function settleCurrentMetrics(object: KubeObject): void {
  const given = object.metadata.annotations?.[currentMetricsAnnotation];
  const { currentCPUUtilizationPercentage: current, ...status } = fieldsOf(object['status']);
  if (given === undefined && isAbsent(current)) return;
  const settled = horizontalPodAutoscalerToV1(horizontalPodAutoscalerToV2(object));
  const text = settled.metadata.annotations?.[currentMetricsAnnotation];
  if (text !== undefined) (object.metadata.annotations ??= {})[currentMetricsAnnotation] = text;
  const percentage = fieldsOf(settled['status'])['currentCPUUtilizationPercentage'];
  object['status'] = { ...status, ...(isAbsent(percentage) ? {} : { currentCPUUtilizationPercentage: percentage }) };
}
