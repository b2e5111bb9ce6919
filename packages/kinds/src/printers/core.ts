import { fieldsOf, itemsOf, numberOf, stringMapOf, textOf, textsOf } from '@capstan/machinery';
import type { TablePrinter } from '../strategy.ts';
import { printer, type Row } from './columns.ts';
import { containers, firstAndMore, ingressAddresses, labels, none, sorted, templateSpec, textOr } from './format.ts';
import { podPrinter } from './pod.ts';

function count(value: unknown): number {
  return Object.keys(fieldsOf(value)).length;
}

function servicePorts({ spec }: Row): string {
  const ports = itemsOf(spec['ports']).map((port) => {
    const node = numberOf(port['nodePort']) > 0 ? `:${numberOf(port['nodePort'])}` : '';
    return `${numberOf(port['port'])}${node}/${textOf(port['protocol'])}`;
  });
  return ports.join(',') || none;
}

function externalAddress({ spec, status }: Row): string {
  const external = textsOf(spec['externalIPs']);
  switch (spec['type']) {
    case 'ClusterIP':
    case 'NodePort':
      return external.join(',') || none;
    case 'LoadBalancer':
      return [...ingressAddresses(status), ...external].join(',') || '<pending>';
    case 'ExternalName':
      return textOf(spec['externalName']);
    default:
      return '<unknown>';
  }
}

const shownEndpoints = 3;

/** Each address with each port. Only the first of them are made: there may be a billion in an object of a megabyte. */
function endpointAddresses({ object }: Row): string {
  const subsets = itemsOf(object['subsets']);
  const shown: string[] = [];
  let count = 0;
  for (const subset of subsets) {
    const [addresses, ports] = [itemsOf(subset['addresses']), itemsOf(subset['ports'])];
    count += addresses.length * Math.max(ports.length, 1);
    const first = addresses.slice(0, shownEndpoints).map((address) => textOf(address['ip']));
    if (ports.length === 0) shown.push(...first);
    for (const port of ports.slice(0, shownEndpoints))
      shown.push(...first.map((ip) => `${ip.includes(':') ? `[${ip}]` : ip}:${numberOf(port['port'])}`));
    shown.length = Math.min(shown.length, shownEndpoints);
  }
  return firstAndMore(shown, shownEndpoints, count) ?? (subsets.length === 0 ? none : '');
}

const rolePrefix = 'node-role.kubernetes.io/';

function nodeRoles({ object }: Row): string {
  const roles = new Set<string>();
  for (const [key, value] of Object.entries(object.metadata.labels ?? {})) {
    if (key.startsWith(rolePrefix) && key.length > rolePrefix.length) roles.add(key.slice(rolePrefix.length));
    else if (key === 'kubernetes.io/role' && value !== '') roles.add(value);
  }
  return sorted(roles).join(',') || none;
}

function nodeState({ spec, status }: Row): string {
  const ready = itemsOf(status['conditions']).findLast((condition) => condition['type'] === 'Ready');
  const state = ready === undefined ? 'Unknown' : ready['status'] === 'True' ? 'Ready' : 'NotReady';
  return spec['unschedulable'] === true ? `${state},SchedulingDisabled` : state;
}

function nodeAddress({ status }: Row, type: string): string {
  const address = itemsOf(status['addresses']).find((candidate) => candidate['type'] === type);
  return address === undefined ? none : textOf(address['address']);
}

/** The usage and limits of a quota, in two cells. */
function quotaLines({ status }: Row): [requests: string, limits: string] {
  const hard = stringMapOf(status['hard']);
  const used = stringMapOf(status['used']);
  const requests: string[] = [];
  const limits: string[] = [];
  for (const name of sorted(Object.keys(hard))) {
    const amount = Object.hasOwn(used, name) ? used[name] : '0';
    (name.startsWith('limits.') ? limits : requests).push(`${name}: ${amount}/${hard[name]}`);
  }
  return [requests.join(', '), limits.join(', ')];
}

function health(object: Row['object']): [status: string, message: string, error: string] {
  const healthy = itemsOf(object['conditions']).find((condition) => condition['type'] === 'Healthy');
  if (healthy === undefined) return ['Unknown', '', ''];
  return [healthy['status'] === 'True' ? 'Healthy' : 'Unhealthy', textOf(healthy['message']), textOf(healthy['error'])];
}

export const corePrinters = new Map<string, TablePrinter>([
  ['/pods', podPrinter],
  ['/configmaps', printer('!Name, Data, Age', ({ object, name, age }) => [name, count(object['data']) + count(object['binaryData']), age])],
  ['/secrets', printer('!Name, Type, Data, Age', ({ object, name, age }) => [name, textOf(object['type']), count(object['data']), age])],
  ['/serviceaccounts', printer('!Name, Secrets, Age', ({ object, name, age }) => [name, itemsOf(object['secrets']).length, age])],
  ['/namespaces', printer('!Name, Status, Age', ({ name, status, age }) => [name, textOf(status['phase']), age])],
  ['/resourcequotas', printer('!Name, Request, Limit, Age', (row) => [row.name, ...quotaLines(row), row.age])],
  [
    '/podtemplates',
    printer('!Name, Containers, Images, Pod Labels', ({ object, name }) => [
      name,
      ...containers(templateSpec(object)),
      labels(fieldsOf(fieldsOf(object['template'])['metadata'])['labels']),
    ]),
  ],
  [
    '/replicationcontrollers',
    printer('!Name, Desired:i, Current:i, Ready:i, Age, +Containers, +Images, +Selector', ({ name, spec, status, age }) => [
      name,
      numberOf(spec['replicas']),
      numberOf(status['replicas']),
      numberOf(status['readyReplicas']),
      age,
      ...containers(templateSpec(spec)),
      labels(spec['selector']),
    ]),
  ],
  [
    '/services',
    printer('!Name, Type, Cluster-IP, External-IP, Port(s), Age, +Selector', (row) => [
      row.name,
      textOf(row.spec['type']),
      textsOf(row.spec['clusterIPs'])[0] ?? none,
      externalAddress(row),
      servicePorts(row),
      row.age,
      labels(row.spec['selector']),
    ]),
  ],
  ['/endpoints', printer('!Name, Endpoints, Age', (row) => [row.name, endpointAddresses(row), row.age])],
  [
    '/nodes',
    printer('!Name, Status, Roles, Age, Version, +Internal-IP, +External-IP, +OS-Image, +Kernel-Version, +Container-Runtime', (row) => {
      const info = fieldsOf(row.status['nodeInfo']);
      return [
        row.name,
        nodeState(row),
        nodeRoles(row),
        row.age,
        textOf(info['kubeletVersion']),
        nodeAddress(row, 'InternalIP'),
        nodeAddress(row, 'ExternalIP'),
        textOr(info['osImage'], '<unknown>'),
        textOr(info['kernelVersion'], '<unknown>'),
        textOr(info['containerRuntimeVersion'], '<unknown>'),
      ];
    }),
  ],
  ['/componentstatuses', printer('!Name, Status, Message, Error', ({ object, name }) => [name, ...health(object)])],
]);
