import { age, fieldsOf, humanDuration, isAbsent, itemsOf, type KubeObject, numberOf, parseApiVersion, textOf } from '@capstan/machinery';
import type { TablePrinter } from '../strategy.ts';
import { printer, type Row } from './columns.ts';
import { containers, labels, none, selector, selectorText, templateSpec, unset } from './format.ts';

function ready({ spec, status }: Row): string {
  return `${numberOf(status['readyReplicas'])}/${numberOf(spec['replicas'])}`;
}

/** The cells shown only with -o wide. */
function wide({ spec }: Row): [names: string, images: string, selector: string] {
  return [...containers(templateSpec(spec)), selector(spec['selector'])];
}

function completions({ spec, status }: Row): string {
  const succeeded = numberOf(status['succeeded']);
  if (!isAbsent(spec['completions'])) return `${succeeded}/${numberOf(spec['completions'])}`;
  const parallelism = numberOf(spec['parallelism']);
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration({ status, now }: Row): string {
  const start = textOf(status['startTime']);
  if (start === '') return '';
  const end = textOf(status['completionTime']);
  return humanDuration((end === '' ? now.getTime() : Date.parse(end)) - Date.parse(start));
}

function jobState({ object, status }: Row): string {
  const holds = (type: string) => itemsOf(status['conditions']).find((condition) => condition['type'] === type)?.['status'] === 'True';
  if (holds('Complete')) return 'Complete';
  if (holds('Failed')) return 'Failed';
  if (object.metadata.deletionTimestamp !== undefined) return 'Terminating';
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(holds) ?? 'Running';
}

function suspended(value: unknown): string {
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : unset;
}

function controllerName({ metadata }: KubeObject): string {
  const owner = metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (owner === undefined) return none;
  const { group } = parseApiVersion(owner.apiVersion);
  return `${(group === '' ? owner.kind : `${owner.kind}.${group}`).toLowerCase()}/${owner.name}`;
}

export const workloadPrinters = new Map<string, TablePrinter>([
  [
    'apps/deployments',
    printer('!Name, Ready, Up-to-date, Available, Age, +Containers, +Images, +Selector', (row) => [
      row.name,
      ready(row),
      numberOf(row.status['updatedReplicas']),
      numberOf(row.status['availableReplicas']),
      row.age,
      ...containers(templateSpec(row.spec)),
      selectorText(row.spec['selector']),
    ]),
  ],
  [
    'apps/replicasets',
    printer('!Name, Desired:i, Current:i, Ready:i, Age, +Containers, +Images, +Selector', (row) => [
      row.name,
      numberOf(row.spec['replicas']),
      numberOf(row.status['replicas']),
      numberOf(row.status['readyReplicas']),
      row.age,
      ...wide(row),
    ]),
  ],
  [
    'apps/statefulsets',
    printer('!Name, Ready, Age, +Containers, +Images', (row) => [row.name, ready(row), row.age, ...containers(templateSpec(row.spec))]),
  ],
  [
    'apps/daemonsets',
    printer(
      '!Name, Desired:i, Current:i, Ready:i, Up-to-date:i, Available:i, Node Selector, Age, +Containers, +Images, +Selector',
      (row) => [
        row.name,
        numberOf(row.status['desiredNumberScheduled']),
        numberOf(row.status['currentNumberScheduled']),
        numberOf(row.status['numberReady']),
        numberOf(row.status['updatedNumberScheduled']),
        numberOf(row.status['numberAvailable']),
        labels(fieldsOf(templateSpec(row.spec))['nodeSelector']),
        row.age,
        ...wide(row),
      ],
    ),
  ],
  [
    'apps/controllerrevisions',
    printer('!Name, Controller, Revision, Age', ({ object, name, age }) => [
      name,
      controllerName(object),
      numberOf(object['revision']),
      age,
    ]),
  ],
  [
    'batch/jobs',
    printer('!Name, Status, Completions, Duration, Age, +Containers, +Images, +Selector', (row) => [
      row.name,
      jobState(row),
      completions(row),
      jobDuration(row),
      row.age,
      ...wide(row),
    ]),
  ],
  [
    'batch/cronjobs',
    printer('!Name, Schedule, Timezone, Suspend:b, Active:i, Last Schedule, Age, +Containers, +Images, +Selector', (row) => {
      const job = fieldsOf(fieldsOf(row.spec['jobTemplate'])['spec']);
      return [
        row.name,
        textOf(row.spec['schedule']),
        textOf(row.spec['timeZone']) || none,
        suspended(row.spec['suspend']),
        itemsOf(row.status['active']).length,
        isAbsent(row.status['lastScheduleTime']) ? none : age(textOf(row.status['lastScheduleTime']), row.now),
        row.age,
        ...containers(templateSpec(job)),
        selector(job['selector']),
      ];
    }),
  ],
]);
