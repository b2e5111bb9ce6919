import { isAbsent, itemsOf, maybeFields, numberOf, textOf, textsOf } from '@capstan/machinery';
import type { TablePrinter } from '../strategy.ts';
import { printer, type Row } from './columns.ts';
import { firstAndMore, ingressAddresses, none, optionalText, selector, unset } from './format.ts';

/** Shows at most three hosts. The number of hidden ones counts rules, including those without a host. */
function hosts({ spec }: Row): string {
  const rules = itemsOf(spec['rules']);
  const shown: string[] = [];
  let more = false;
  for (const rule of rules) {
    if (shown.length === 3) more = true;
    else if (textOf(rule['host']) !== '') shown.push(textOf(rule['host']));
  }
  if (shown.length === 0) return '*';
  return more ? `${shown.join(',')} + ${rules.length - 3} more...` : shown.join(',');
}

function classParameters({ spec }: Row): string {
  const parameters = maybeFields(spec['parameters']);
  if (parameters === undefined) return none;
  const group = isAbsent(parameters['apiGroup']) ? '' : `.${textOf(parameters['apiGroup'])}`;
  return `${textOf(parameters['kind'])}${group}/${textOf(parameters['name'])}`;
}

function parentOf({ spec }: Row): string {
  const parent = maybeFields(spec['parentRef']);
  if (parent === undefined) return none;
  const group = textOf(parent['group']);
  const resource = group === '' ? textOf(parent['resource']) : `${textOf(parent['resource'])}.${group}`;
  const namespace = textOf(parent['namespace']);
  return [resource.toLowerCase(), ...(namespace === '' ? [] : [namespace]), textOf(parent['name'])].join('/');
}

function slicePort(port: { [field: string]: unknown }): string {
  return isAbsent(port['port']) ? optionalText(port['name'], '*') : String(numberOf(port['port']));
}

export const networkingPrinters = new Map<string, TablePrinter>([
  [
    'networking.k8s.io/ingresses',
    printer('!Name, Class, Hosts, Address, Ports, Age', (row) => [
      row.name,
      optionalText(row.spec['ingressClassName'], none),
      hosts(row),
      ingressAddresses(row.status).join(','),
      itemsOf(row.spec['tls']).length === 0 ? '80' : '80, 443',
      row.age,
    ]),
  ],
  [
    'networking.k8s.io/ingressclasses',
    printer('!Name, Controller, Parameters, Age', (row) => [row.name, textOf(row.spec['controller']), classParameters(row), row.age]),
  ],
  [
    'networking.k8s.io/networkpolicies',
    printer('!Name, Pod-Selector, Age', ({ name, spec, age }) => [name, selector(spec['podSelector']), age]),
  ],
  // The row has an age without a column; kube-apiserver does the same.
  ['networking.k8s.io/ipaddresses', printer('!Name, ParentRef', (row) => [row.name, parentOf(row), row.age])],
  ['networking.k8s.io/servicecidrs', printer('!Name, CIDRs, Age', ({ name, spec, age }) => [name, textsOf(spec['cidrs']).join(','), age])],
  [
    'discovery.k8s.io/endpointslices',
    printer('!Name, AddressType, Ports, Endpoints, Age', ({ object, name, age }) => [
      name,
      textOf(object['addressType']),
      firstAndMore(itemsOf(object['ports']).map(slicePort), 3) || unset,
      firstAndMore(
        itemsOf(object['endpoints']).flatMap((endpoint) => textsOf(endpoint['addresses'])),
        3,
      ) || unset,
      age,
    ]),
  ],
]);
