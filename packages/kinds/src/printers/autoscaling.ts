import { type Fields, fieldsOf, isAbsent, itemsOf, maybeFields, numberOf, textOf } from '@capstan/machinery';
import { horizontalPodAutoscalerToV2 } from '../autoscaling/autoscaling-versions.ts';
import type { TablePrinter } from '../strategy.ts';
import { printer } from './columns.ts';
import { none, unset } from './format.ts';

const unknown = '<unknown>';

/** The field of a metric that holds its source, by the metric's type. */
const sources = new Map([
  ['External', 'external'],
  ['Pods', 'pods'],
  ['Object', 'object'],
  ['Resource', 'resource'],
  ['ContainerResource', 'containerResource'],
]);

function percent(value: unknown): string | undefined {
  return isAbsent(value) ? undefined : `${numberOf(value)}%`;
}

/** A metric as `current/target`. */
function metricText(metric: Fields, observed: Fields | undefined): string {
  const field = sources.get(textOf(metric['type']));
  if (field === undefined) return '<unknown type>';
  const source = fieldsOf(metric[field]);
  const target = fieldsOf(source['target']);
  const current = fieldsOf(fieldsOf(observed?.[field])['current']);
  const isResource = field === 'resource' || field === 'containerResource';
  const prefix = isResource ? `${textOf(source['name'])}: ` : '';
  if (isResource && isAbsent(target['averageValue'])) {
    return `${prefix}${percent(current['averageUtilization']) ?? unknown}/${percent(target['averageUtilization']) ?? '<auto>'}`;
  }
  if (field === 'pods' || !isAbsent(target['averageValue'])) {
    const suffix = field === 'external' || field === 'object' ? ' (avg)' : '';
    return `${prefix}${textOf(current['averageValue']) || unknown}/${textOf(target['averageValue'])}${suffix}`;
  }
  return `${textOf(current['value']) || unknown}/${textOf(target['value'])}`;
}

function targets(spec: Fields, status: Fields): string {
  const metrics = itemsOf(spec['metrics']);
  if (metrics.length === 0) return none;
  const observed = itemsOf(status['currentMetrics']);
  const texts = metrics.slice(0, 2).map((metric, index) => metricText(metric, maybeFields(observed[index])));
  return metrics.length > 2 ? `${texts.join(', ')} + ${metrics.length - 2} more...` : texts.join(', ');
}

export const autoscalingPrinters = new Map<string, TablePrinter>([
  [
    'autoscaling/horizontalpodautoscalers',
    printer('!Name, Reference, Targets, MinPods, MaxPods, Replicas, Age', ({ object, name, age }) => {
      const autoscaler = object.apiVersion === 'autoscaling/v1' ? horizontalPodAutoscalerToV2(object) : object;
      const spec = fieldsOf(autoscaler['spec']);
      const status = fieldsOf(autoscaler['status']);
      const target = fieldsOf(spec['scaleTargetRef']);
      return [
        name,
        `${textOf(target['kind'])}/${textOf(target['name'])}`,
        targets(spec, status),
        isAbsent(spec['minReplicas']) ? unset : String(numberOf(spec['minReplicas'])),
        numberOf(spec['maxReplicas']),
        numberOf(status['currentReplicas']),
        age,
      ];
    }),
  ],
]);

export const scalePrinter: TablePrinter = printer('Name, Desired:i, Available:i, Age', ({ name, age, spec, status }) => [
  name,
  numberOf(spec['replicas']),
  numberOf(status['replicas']),
  age,
]);
