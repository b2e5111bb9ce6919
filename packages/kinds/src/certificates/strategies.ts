import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  formatTime,
  itemsOf,
  type KubeObject,
  names,
  numberOf,
  textOf,
  textsOf,
} from '@capstan/machinery';
import { requestProblem } from '@capstan/pki';
import { keepPart, sameValue } from '../parts.ts';
import { made } from '../shared/defaulting.ts';
import { repeats } from '../shared/repeats.ts';
import type { Strategy } from '../strategy.ts';
import { certificateChainProblem } from './certificate.ts';

const spec = FieldPath.of('spec');
const conditionsPath = FieldPath.of('status', 'conditions');
const certificatePath = FieldPath.of('status', 'certificate');

const usages = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];

/** A signer name is a domain and a path of subdomains, such as `example.com/signer-name`. */
function signerNameErrors(signer: string): FieldError[] {
  const path = spec.child('signerName');
  if (signer === '') return [fieldError.required(path)];
  if (signer === 'kubernetes.io/legacy-unknown') {
    return [fieldError.invalid(path, signer, 'the legacy signerName is not allowed via this API version')];
  }
  const [domain = '', rest = '', ...more] = signer.split('/');
  if (more.length > 0 || !signer.includes('/')) {
    return [fieldError.invalid(path, signer, "must be a fully qualified domain and path of the form 'example.com/signer-name'")];
  }
  const errors: FieldError[] = [];
  if (Buffer.byteLength(domain) > 253) errors.push(fieldError.tooLong(path, 253));
  errors.push(...labelErrors(domain, names.dns1123Label, path));
  if (!domain.includes('.'))
    errors.push(fieldError.invalid(path, domain, 'should be a domain with at least two segments separated by dots'));
  errors.push(...labelErrors(rest, names.dns1123Subdomain, path));
  if (Buffer.byteLength(rest) > 253 + 63 + 1) errors.push(fieldError.tooLong(path, 253 + 63 + 1));
  return errors;
}

/** Reports only the first invalid label. */
function labelErrors(text: string, check: (label: string) => string[], path: FieldPath): FieldError[] {
  for (const label of text.split('.')) {
    const wrong = check(label);
    if (wrong.length > 0)
      return wrong.map((message) => fieldError.invalid(path, text, `validating label ${JSON.stringify(label)}: ${message}`));
  }
  return [];
}

function specErrors(object: KubeObject): FieldError[] {
  const { request, usages: given, signerName, expirationSeconds } = fieldsOf(object['spec']);
  const errors: FieldError[] = [];
  const problem = requestProblem(Buffer.from(textOf(request), 'base64').toString('latin1'));
  if (problem !== undefined) errors.push(fieldError.invalid(spec.child('request'), textOf(request), problem));
  const list = textsOf(given);
  if (list.length === 0) errors.push(fieldError.required(spec.child('usages')));
  list.forEach((usage, index) => {
    if (!usages.includes(usage)) errors.push(fieldError.notSupported(spec.child('usages').index(index), usage, usages));
  });
  const isRepeated = repeats<string>();
  list.forEach((usage, index) => {
    if (isRepeated(usage)) errors.push(fieldError.duplicate(spec.child('usages').index(index), usage));
  });
  errors.push(...signerNameErrors(textOf(signerName)));
  if (typeof expirationSeconds === 'number' && expirationSeconds < 600) {
    const detail = 'may not specify a duration less than 600 seconds (10 minutes)';
    errors.push(fieldError.invalid(spec.child('expirationSeconds'), numberOf(expirationSeconds), detail));
  }
  return errors;
}

const conditionsOf = (object: KubeObject): readonly Fields[] => itemsOf(fieldsOf(object['status'])['conditions']);
const certificateOf = (object: KubeObject): string => textOf(fieldsOf(object['status'])['certificate']);
const ofType = (object: KubeObject, type: string): Fields[] => conditionsOf(object).filter((condition) => condition['type'] === type);

/** Conditions that may only have the status `True`. */
const factual = ['Approved', 'Denied', 'Failed'];

function conditionErrors(object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  conditionsOf(object).forEach((condition, index) => {
    const path = conditionsPath.index(index);
    const type = textOf(condition['type']);
    const status = textOf(condition['status']);
    const allowed = factual.includes(type) ? ['True'] : ['False', 'True', 'Unknown'];
    if (type === '') errors.push(fieldError.required(path.child('type')));
    if (status === '') errors.push(fieldError.required(path.child('status')));
    else if (!allowed.includes(status)) errors.push(fieldError.notSupported(path.child('status'), status, allowed));
    if ((type === 'Approved' && seen.has('Denied')) || (type === 'Denied' && seen.has('Approved'))) {
      errors.push(fieldError.invalid(conditionsPath, type, 'Approved and Denied conditions are mutually exclusive'));
    }
    if (seen.has(type)) errors.push(fieldError.duplicate(path.child('type'), type));
    seen.add(type);
  });
  return errors;
}

/** The `approval` subresource changes approvals; `status` changes the certificate and the other conditions. */
function changeErrors(object: KubeObject, old: KubeObject, through: 'approval' | 'status'): FieldError[] {
  const errors: FieldError[] = [];
  for (const type of factual) {
    if (ofType(object, type).length < ofType(old, type).length) {
      errors.push(fieldError.forbidden(conditionsPath, `updates may not remove a condition of type "${type}"`));
    }
  }
  if (through === 'status') {
    for (const type of ['Approved', 'Denied']) {
      const added = ofType(object, type).length - ofType(old, type).length;
      if (added > 0) errors.push(fieldError.forbidden(conditionsPath, `updates may not add a condition of type "${type}"`));
      else if (added === 0 && !sameValue(ofType(object, type), ofType(old, type))) {
        errors.push(fieldError.forbidden(conditionsPath, `updates may not modify a condition of type "${type}"`));
      }
    }
  }
  return [...errors, ...certificateErrors(object, old, through)];
}

function certificateErrors(object: KubeObject, old: KubeObject, through: 'approval' | 'status'): FieldError[] {
  if (certificateOf(object) === certificateOf(old)) return [];
  const errors: FieldError[] = [];
  const problem = certificateChainProblem(certificateOf(object));
  if (problem !== undefined) errors.push(fieldError.invalid(certificatePath, '<certificate data>', problem));
  if (through === 'approval') errors.push(fieldError.forbidden(certificatePath, 'updates may not set certificate content'));
  else if (certificateOf(old) !== '')
    errors.push(fieldError.forbidden(certificatePath, 'updates may not modify existing certificate content'));
  return errors;
}

/** Sets missing times of conditions. A condition whose status did not change keeps its transition time. */
function stampConditions(object: KubeObject, old: KubeObject, now: string): void {
  for (const condition of conditionsOf(object)) {
    condition['lastUpdateTime'] ||= now;
    condition['lastTransitionTime'] ||=
      conditionsOf(old).find(
        ({ type, status, lastTransitionTime }) => type === condition['type'] && status === condition['status'] && lastTransitionTime,
      )?.['lastTransitionTime'] ?? now;
  }
}

/** Restores the Approved and Denied conditions, which a signer may send back without their times. */
function keepApprovals(object: KubeObject, old: KubeObject): void {
  const conditions = [...conditionsOf(object)];
  for (const type of ['Approved', 'Denied']) {
    const before = ofType(old, type);
    if (before.length !== ofType(object, type).length) continue;
    let next = 0;
    conditions.forEach((condition, index) => {
      if (condition['type'] === type) conditions[index] = { ...before[next++] };
    });
  }
  if (conditions.length > 0) made(object, 'status')['conditions'] = conditions;
}

const certificatesigningrequests: Strategy = {
  validateName: names.pathSegment,
  prepareForCreate(object, { user }) {
    const request = made(object, 'spec');
    for (const name of ['username', 'uid', 'groups', 'extra']) delete request[name];
    request['username'] = user.name;
    if (user.uid) request['uid'] = user.uid;
    if (user.groups.length > 0) request['groups'] = [...user.groups];
    if (user.extra !== undefined && Object.keys(user.extra).length > 0) request['extra'] = structuredClone(user.extra);
    object['status'] = {};
  },
  prepareForUpdate(object, old) {
    keepPart(object, old, 'spec');
    keepPart(object, old, 'status');
  },
  validate: (object) => [...specErrors(object), ...conditionErrors(object)],
  selectableLabels: ['spec.signerName'],
  selectableFields: (object) => ({ 'spec.signerName': textOf(fieldsOf(object['spec'])['signerName']) }),
  resetFields: { main: [['spec'], ['status']], status: [['spec'], ['status', 'conditions']] },
  status: {
    prepareForUpdate(object, old, context) {
      keepPart(object, old, 'spec');
      keepApprovals(object, old);
      stampConditions(object, old, formatTime(context.now()));
    },
    validate: (object) => conditionErrors(object),
    validateUpdate: (object, old) => changeErrors(object, old, 'status'),
  },
  subresources: {
    approval: {
      prepareForUpdate(object, old, context) {
        stampConditions(object, old, formatTime(context.now()));
        const conditions = fieldsOf(object['status'])['conditions'];
        keepPart(object, old, 'spec');
        const { conditions: _, ...rest } = fieldsOf(old['status']);
        object['status'] = { ...rest, ...(conditions !== undefined && { conditions }) };
      },
      validate: (object) => conditionErrors(object),
      validateUpdate: (object, old) => changeErrors(object, old, 'approval'),
    },
  },
};

export const certificateStrategies: ReadonlyMap<string, Strategy> = new Map([
  ['certificates.k8s.io/certificatesigningrequests', certificatesigningrequests],
]);
