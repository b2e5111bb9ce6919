import type { KubeObject } from '@capstan/machinery';
import { fieldsOf, isAbsent, itemsOf, maybeFields, numberOf, textOf } from '@capstan/machinery';
import type { TablePrinter } from '../strategy.ts';
import { printer } from './columns.ts';
import { none, optionalText } from './format.ts';

function budget(value: unknown): string {
  return typeof value === 'number' || typeof value === 'string' ? String(value) : 'N/A';
}

function claimState({ metadata, ...object }: KubeObject): string {
  const status = fieldsOf(object['status']);
  const deleted = metadata.deletionTimestamp !== undefined;
  const states = deleted ? ['deleted'] : [];
  if (maybeFields(status['allocation']) === undefined) {
    if (!deleted) states.push('pending');
  } else {
    states.push('allocated');
    if (itemsOf(status['reservedFor']).length > 0) states.push('reserved');
  }
  return states.join(',');
}

/** Policies, scheduling, runtime classes and devices. */
export const policyPrinters = new Map<string, TablePrinter>([
  [
    'policy/poddisruptionbudgets',
    printer('!Name, Min Available, Max Unavailable, Allowed Disruptions:i, Age', ({ name, spec, status, age }) => [
      name,
      budget(spec['minAvailable']),
      budget(spec['maxUnavailable']),
      numberOf(status['disruptionsAllowed']),
      age,
    ]),
  ],
  [
    'scheduling.k8s.io/priorityclasses',
    printer('!Name, Value:i, Global-Default:b, Age, PreemptionPolicy', ({ object, name, age }) => [
      name,
      numberOf(object['value']),
      object['globalDefault'] === true,
      age,
      textOf(object['preemptionPolicy']),
    ]),
  ],
  ['node.k8s.io/runtimeclasses', printer('!Name, Handler, Age', ({ object, name, age }) => [name, textOf(object['handler']), age])],
  ['resource.k8s.io/deviceclasses', printer('!Name, Age', ({ name, age }) => [name, age])],
  ['resource.k8s.io/resourceclaims', printer('!Name, State, Age', ({ object, name, age }) => [name, claimState(object), age])],
  ['resource.k8s.io/resourceclaimtemplates', printer('!Name, Age', ({ name, age }) => [name, age])],
  [
    'resource.k8s.io/resourceslices',
    printer('!Name, Node, Driver, Pool, Age', ({ name, spec, age }) => [
      name,
      textOf(spec['nodeName']),
      textOf(spec['driver']),
      textOf(fieldsOf(spec['pool'])['name']),
      age,
    ]),
  ],
  [
    'coordination.k8s.io/leases',
    printer('!Name, Holder, Age', ({ name, spec, age }) => [name, optionalText(spec['holderIdentity'], ''), age]),
  ],
  [
    'flowcontrol.apiserver.k8s.io/flowschemas',
    printer('!Name, PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL', ({ name, spec, status, age }) => [
      name,
      textOf(fieldsOf(spec['priorityLevelConfiguration'])['name']),
      numberOf(spec['matchingPrecedence']),
      isAbsent(spec['distinguisherMethod']) ? none : textOf(fieldsOf(spec['distinguisherMethod'])['type']),
      age,
      optionalText(itemsOf(status['conditions']).find((condition) => condition['type'] === 'Dangling')?.['status'], '?'),
    ]),
  ],
  [
    'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations',
    printer('!Name, Type, NominalConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age', ({ name, spec, age }) => {
      const limited = maybeFields(spec['limited']);
      const queuing = maybeFields(fieldsOf(limited?.['limitResponse'])['queuing']);
      return [
        name,
        textOf(spec['type']),
        limited === undefined ? none : numberOf(limited['nominalConcurrencyShares']),
        queuing === undefined ? none : numberOf(queuing['queues']),
        queuing === undefined ? none : numberOf(queuing['handSize']),
        queuing === undefined ? none : numberOf(queuing['queueLengthLimit']),
        age,
      ];
    }),
  ],
]);
