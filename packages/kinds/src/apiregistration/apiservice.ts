import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  formatTime,
  itemsOf,
  type KubeObject,
  maybeFields,
  names,
  numberOf,
  textOf,
} from '@capstan/machinery';
import { decodedLength, keepPart } from '../parts.ts';
import { applyDefaults } from '../shared/defaulting.ts';
import type { Strategy } from '../strategy.ts';

const spec = FieldPath.of('spec');
const conditionStatuses = ['True', 'False', 'Unknown'];

function nameErrors(object: KubeObject, { group, version }: Readonly<Fields>): FieldError[] {
  const name = object.metadata.name ?? '';
  const expected = `${textOf(version)}.${textOf(group)}`;
  if (name === '' || names.pathSegment(name).length > 0 || name === expected) return [];
  return [
    fieldError.invalid(FieldPath.of('metadata', 'name'), name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(expected)}`),
  ];
}

function groupErrors(service: Readonly<Fields>): FieldError[] {
  const group = textOf(service['group']);
  const version = textOf(service['version']);
  const errors: FieldError[] = [];
  if (group === '' && version !== 'v1') {
    errors.push(fieldError.required(spec.child('group'), 'only v1 may have an empty group and it better be legacy kube'));
  }
  if (group !== '')
    for (const message of names.dns1123Subdomain(group)) errors.push(fieldError.invalid(spec.child('group'), group, message));
  for (const message of names.dns1035Label(version)) errors.push(fieldError.invalid(spec.child('version'), version, message));
  return errors;
}

function priorityErrors(service: Readonly<Fields>): FieldError[] {
  return (
    [
      ['groupPriorityMinimum', 20000],
      ['versionPriority', 1000],
    ] as const
  )
    .filter(([field, limit]) => numberOf(service[field]) <= 0 || numberOf(service[field]) > limit)
    .map(([field, limit]) => fieldError.invalid(spec.child(field), numberOf(service[field]), `must be positive and less than ${limit}`));
}

function backendErrors(service: Readonly<Fields>): FieldError[] {
  const bundle = textOf(service['caBundle']);
  const insecure = service['insecureSkipTLSVerify'] === true;
  const backend = maybeFields(service['service']);
  const errors: FieldError[] = [];
  if (backend === undefined) {
    if (bundle !== '') {
      errors.push(
        fieldError.invalid(spec.child('caBundle'), `${decodedLength(bundle)} bytes`, 'local APIServices may not have a caBundle'),
      );
    }
    if (insecure) {
      errors.push(fieldError.invalid(spec.child('insecureSkipTLSVerify'), true, 'local APIServices may not have insecureSkipTLSVerify'));
    }
    return errors;
  }
  const path = spec.child('service');
  for (const field of ['namespace', 'name']) if (!backend[field]) errors.push(fieldError.required(path.child(field)));
  const wrongPort = names.portNumber(numberOf(backend['port']));
  if (wrongPort.length > 0)
    errors.push(fieldError.invalid(path.child('port'), numberOf(backend['port']), `port is not valid: ${wrongPort.join(', ')}`));
  if (insecure && bundle !== '') {
    errors.push(fieldError.invalid(spec.child('insecureSkipTLSVerify'), true, 'may not be true if caBundle is present'));
  }
  return errors;
}

const local = { type: 'Available', status: 'True', reason: 'Local', message: 'Local APIServices are always available' };
const notForwarded = {
  type: 'Available',
  status: 'False',
  reason: 'NotForwarded',
  message: 'the server forwards no requests to extension API servers',
};

const apiservices: Strategy = {
  validateName: (name) => names.pathSegment(name),
  requireResourceVersion: true,
  default: (object) => applyDefaults(object, { within: { spec: { within: { service: { setNumbers: { port: 443 } } } } } }),
  prepareForCreate(object, context) {
    const isLocal = maybeFields(fieldsOf(object['spec'])['service']) === undefined;
    if (!isLocal) context.warn(`this APIService has no effect: ${notForwarded.message}`);
    const condition = { ...(isLocal ? local : notForwarded), lastTransitionTime: formatTime(context.now()) };
    object['status'] = { conditions: [condition] };
  },
  prepareForUpdate: (object, old) => keepPart(object, old, 'status'),
  validate(object) {
    const service = fieldsOf(object['spec']);
    return [...nameErrors(object, service), ...groupErrors(service), ...priorityErrors(service), ...backendErrors(service)];
  },
  resetFields: { main: [['status']], status: [['spec'], ['metadata']] },
  status: {
    prepareForUpdate(object, old) {
      keepPart(object, old, 'spec');
      const { labels, annotations, finalizers, ownerReferences } = old.metadata;
      const kept = { labels, annotations, finalizers, ownerReferences };
      for (const [name, value] of Object.entries(kept)) {
        if (value === undefined) delete object.metadata[name as keyof typeof kept];
        else Object.assign(object.metadata, { [name]: value });
      }
    },
    validateUpdate: (object) =>
      itemsOf(fieldsOf(object['status'])['conditions']).flatMap((condition, index) => {
        const status = textOf(condition['status']);
        if (conditionStatuses.includes(status)) return [];
        return [fieldError.notSupported(FieldPath.of('status', 'conditions').index(index).child('status'), status, conditionStatuses)];
      }),
  },
};

export const apiregistrationStrategies: ReadonlyMap<string, Strategy> = new Map([['apiregistration.k8s.io/apiservices', apiservices]]);
