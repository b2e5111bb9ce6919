import { fieldsOf, humanDuration, isAbsent, itemsOf, maybeFields, numberOf, textOf } from '@capstan/machinery';
import type { TablePrinter } from '../strategy.ts';
import { type Cell, printer, type Row } from './columns.ts';
import { none, textOr, unset } from './format.ts';

function bindingCells({ object, name, age }: Row): Cell[] {
  const role = fieldsOf(object['roleRef']);
  const subjects = itemsOf(object['subjects']);
  const named = (kind: string) => subjects.filter((subject) => subject['kind'] === kind).map((subject) => textOf(subject['name']));
  const accounts = subjects
    .filter((subject) => subject['kind'] === 'ServiceAccount')
    .map((subject) => `${textOf(subject['namespace'])}/${textOf(subject['name'])}`);
  return [
    name,
    `${textOf(role['kind'])}/${textOf(role['name'])}`,
    age,
    named('User').join(', '),
    named('Group').join(', '),
    accounts.join(', '),
  ];
}

function requestState({ status }: Row): string {
  const types = new Set(itemsOf(status['conditions']).map((condition) => condition['type']));
  const decision = types.has('Denied') ? 'Denied' : types.has('Approved') ? 'Approved' : 'Pending';
  const issued = textOf(status['certificate']) !== '';
  return `${decision}${types.has('Failed') ? ',Failed' : ''}${issued ? ',Issued' : ''}`;
}

function requestedDuration({ spec }: Row): string {
  return isAbsent(spec['expirationSeconds']) ? none : humanDuration(numberOf(spec['expirationSeconds']) * 1000);
}

function webhookCells({ object, name, age }: Row): Cell[] {
  return [name, itemsOf(object['webhooks']).length, age];
}

function parameterKind({ spec }: Row): string {
  const kind = maybeFields(spec['paramKind']);
  return kind === undefined ? unset : `${textOf(kind['apiVersion'])}/${textOf(kind['kind'])}`;
}

function parameterReference({ spec }: Row): string {
  const reference = fieldsOf(spec['paramRef']);
  const name = textOf(reference['name']);
  if (name !== '') return `${textOr(reference['namespace'], '*')}/${name}`;
  return isAbsent(reference['selector']) ? unset : selectorStruct(reference['selector']);
}

/** A selector in the form of this column only: the fields of the Go struct instead of the usual short form. */
function selectorStruct(selector: unknown): string {
  const fields = fieldsOf(selector);
  const pairs = Object.entries(fieldsOf(fields['matchLabels']))
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, value]) => `${key}: ${String(value)},`)
    .join('');
  const expressions = itemsOf(fields['matchExpressions'])
    .map(
      (expression) =>
        `LabelSelectorRequirement{Key:${textOf(expression['key'])},Operator:${textOf(expression['operator'])},Values:[${(expression['values'] as string[] | undefined)?.join(' ') ?? ''}],},`,
    )
    .join('');
  return `&LabelSelector{MatchLabels:map[string]string{${pairs}},MatchExpressions:[]LabelSelectorRequirement{${expressions}},}`;
}

function availability({ status }: Row): string {
  const condition = itemsOf(status['conditions']).find((candidate) => candidate['type'] === 'Available');
  if (condition === undefined) return 'Unknown';
  const reason = textOf(condition['reason']);
  return condition['status'] === 'True' || reason === '' ? textOf(condition['status']) : `${textOf(condition['status'])} (${reason})`;
}

function serviceOf({ spec }: Row): string {
  const service = maybeFields(spec['service']);
  return service === undefined ? 'Local' : `${textOf(service['namespace'])}/${textOf(service['name'])}`;
}

const policyBindings = printer('!Name, PolicyName, ParamRef, Age', (row) => [
  row.name,
  textOf(row.spec['policyName']),
  parameterReference(row),
  row.age,
]);

const bindingColumns = '!Name, Role, Age, +Users, +Groups, +ServiceAccounts';

/** Roles, certificates, admission and API aggregation. */
export const accessPrinters = new Map<string, TablePrinter>([
  ['rbac.authorization.k8s.io/rolebindings', printer(bindingColumns, bindingCells)],
  ['rbac.authorization.k8s.io/clusterrolebindings', printer(bindingColumns, bindingCells)],
  [
    'certificates.k8s.io/certificatesigningrequests',
    printer('!Name, Age, SignerName, Requestor, RequestedDuration, Condition', (row) => [
      row.name,
      row.age,
      textOr(row.spec['signerName'], none),
      textOf(row.spec['username']),
      requestedDuration(row),
      requestState(row),
    ]),
  ],
  ['admissionregistration.k8s.io/mutatingwebhookconfigurations', printer('!Name, Webhooks:i, Age', webhookCells)],
  ['admissionregistration.k8s.io/validatingwebhookconfigurations', printer('!Name, Webhooks:i, Age', webhookCells)],
  [
    'admissionregistration.k8s.io/validatingadmissionpolicies',
    printer('!Name, Validations:i, ParamKind, Age', (row) => [
      row.name,
      itemsOf(row.spec['validations']).length,
      parameterKind(row),
      row.age,
    ]),
  ],
  ['admissionregistration.k8s.io/validatingadmissionpolicybindings', policyBindings],
  [
    'admissionregistration.k8s.io/mutatingadmissionpolicies',
    printer('!Name, Mutations:i, ParamKind, Age', (row) => [row.name, itemsOf(row.spec['mutations']).length, parameterKind(row), row.age]),
  ],
  ['admissionregistration.k8s.io/mutatingadmissionpolicybindings', policyBindings],
  [
    'apiregistration.k8s.io/apiservices',
    printer('!Name, Service, Available, Age', (row) => [row.name, serviceOf(row), availability(row), row.age]),
  ],
]);
